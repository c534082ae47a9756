"""How a request to the API server can fail.

    PeerError
    ├── UnreachableError          no answer: refused, cut, timed out, a bad certificate
    ├── MalformedReplyError       an answer that is not what the API promises
    └── ApiError                  a Status of the API server, with its code, reason and causes
        ├── UnauthorizedError     401, also with credentials just renewed
        ├── ForbiddenError        403
        ├── NotFoundError         404
        ├── AlreadyExistsError    409, reason AlreadyExists
        ├── ConflictError         409, any other: the object changed, a precondition did not hold
        ├── GoneError             410: a version or a continue token too old to go on from
        ├── InvalidError          422; `causes` names the fields
        ├── TooManyRequestsError  429; `retry_after_s` says how long to wait
        └── ServerFaultError      5xx; `retry_after_s` may say how long to wait
    HostError
    ├── KubeConfigError           a kubeconfig, service account or credential plugin is unusable
    └── NotServedError            the cluster does not serve an API that we need

Errors are distinguished by class and fields. If a `Status` body is missing or broken, detail is
lost, but never the class: that depends on the code and reason alone.
"""

import re
from collections.abc import Mapping

import msgspec

from netclaim.errors import HostError, PeerError
from netclaim.json_text import UNREADABLE

TEXT_SHOWN = 200  # characters of a body that is no Status: enough to recognize a proxy's page
INVALID_SHOWN = 300  # characters about what is invalid, for a log's line or a condition's message
OBJECT = re.compile(
    r"\{.*\}", re.DOTALL
)  # the value that a cause quotes, which may be the whole object


class KubeConfigError(HostError):
    """The way to the cluster, or the credentials for it, cannot be read on this machine."""


class NotServedError(HostError):
    """The cluster does not serve an API that we need; its owner can switch it on."""


class UnreachableError(PeerError):
    """No answer came from the API server."""


class MalformedReplyError(PeerError):
    """The API server, or something in its place, sent what is not a Kubernetes reply."""


class Cause(msgspec.Struct, frozen=True):
    """One reason of a Status: for code 422, the field and what is wrong with it."""

    field: str = ""
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: float | None = None


class Status(msgspec.Struct, frozen=True):
    """The body of a refusal, and the object of a watch's ERROR event."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


class ApiError(PeerError):
    """The API server refused; `code`, `reason`, `causes` and `retry_after_s` give the details."""

    def __init__(self, status: Status, *, retry_after_s: float | None = None) -> None:
        super().__init__(
            self._text(status) or f"the API server answered {status.code} {status.reason}"
        )
        details = status.details or _Details()
        self.code = status.code
        self.reason = status.reason
        self.causes = details.causes or ()
        self.retry_after_s = retry_after_s or details.retry_after_seconds

    def _text(self, status: Status) -> str:
        return status.message


class UnauthorizedError(ApiError):
    """The server does not know us, even with renewed credentials."""

    def _text(self, status: Status) -> str:
        said = f": {status.message}" if status.message else ""
        return f"the API server does not accept the credentials, which may have expired{said}"


class ForbiddenError(ApiError):
    """The server knows us but does not allow this."""


class NotFoundError(ApiError):
    """The object, or the whole API, does not exist."""


class AlreadyExistsError(ApiError):
    """An object of the same name exists already."""


class ConflictError(ApiError):
    """The object is not in the state the request was made for; read it again."""


class GoneError(ApiError):
    """The version to continue from is too old; list again."""


class InvalidError(ApiError):
    """The object breaks a rule; `causes` names each field. 1.36 also refuses status rights so.

    The text names the fields and what is wrong, without the values, which the server quotes whole.
    """

    def _text(self, status: Status) -> str:
        details = status.details or _Details()
        # The server repeats some causes, once for each check that finds them.
        causes = dict.fromkeys(f"{cause.field}: {_brief(cause)}" for cause in details.causes or ())
        subject = f"{details.kind} {details.name}".strip() or "the object"
        text = (
            f"{subject} is invalid: {'; '.join(causes)}"
            if causes
            else _without_objects(status.message)
        )
        return text if len(text) <= INVALID_SHOWN else text[: INVALID_SHOWN - 1] + "…"


class TooManyRequestsError(ApiError):
    """The server sheds load; wait `retry_after_s`."""


class ServerFaultError(ApiError):
    """The server, or what it depends on, failed."""


_BY_CODE: Mapping[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: TooManyRequestsError,
}


def _brief(cause: Cause) -> str:
    return _without_objects(cause.message) or cause.reason


def _without_objects(text: str) -> str:
    return " ".join(OBJECT.sub("{…}", text).split())


def error_of_status(status: Status, *, retry_after_s: float | None = None) -> ApiError:
    """Return the error for a Status."""
    if status.code >= 500:
        kind: type[ApiError] = ServerFaultError
    elif status.reason == "AlreadyExists":
        kind = AlreadyExistsError
    else:
        kind = _BY_CODE.get(status.code, ApiError)
    return kind(status, retry_after_s=retry_after_s)


def error_of_reply(code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Return the error for an HTTP answer of 400 or more, whatever its body is."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except UNREADABLE:
        text = " ".join(body[:TEXT_SHOWN].decode(errors="replace").split())
        status = Status(message=text and f"the API server answered {code}: {text}")
    if status.code != code:  # missing, or a proxy's own answer around a Status
        status = msgspec.structs.replace(status, code=code)
    return error_of_status(status, retry_after_s=_seconds(headers.get("Retry-After", "")))


def _seconds(header: str) -> float | None:
    """Read Retry-After; the API server sends whole seconds, and a proxy's date is ignored."""
    return float(header) if header.isdecimal() else None
