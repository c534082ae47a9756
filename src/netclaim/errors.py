"""The error tree: every error says who must act.

    NetclaimError
    ├── RequestError   the user must change a manifest, a claim or an argument
    ├── PeerError      netclaim retries: the API server, kubelet, the runtime or a plugin failed
    └── HostError      the node's admin must act: a privilege, a path, a kernel feature is missing

`why` is the reason of a refusal in a word, for metrics.

Code distinguishes errors by class and fields, never by their text. What a user sees of an error is
`str(error)`: one line of printable characters that says what is wrong and what to change. A program
that ends with an error says by its exit code who must act: 2 means the user or the node's admin, 1
that a retry may help.
"""

from collections.abc import Collection, Iterable
from typing import Final, Literal, TypeAlias, get_args

from netclaim.paths import Path, show
from netclaim.plain_text import sentence

__all__ = [
    "HostError",
    "NetclaimError",
    "PeerError",
    "Reason",
    "RequestError",
    "exit_code",
    "faults_in",
    "reason_of",
    "worst_reason",
]

Reason: TypeAlias = Literal[
    "bug",  # of the driver
    "host",  # the node lacks something that its admin must provide
    "policy",  # the claim asks for more than an admin allows it
    "request",  # the claim, or the pod, cannot be served as it is written
    "limit",  # the pod or the namespace has as much as it may have
    "plugin",  # a CNI plugin failed
    "device",  # the device is not on the node, or another claim has it
    "timeout",  # it took too long
    "pace",  # it failed a moment ago at the cost of others, and has to wait
    "peer",  # another component failed, for example the API server
]
"""Why somebody was refused. Of several reasons the first of these counts."""

TRY_AGAIN: Final = 1
MUST_ACT: Final = 2  # as for an argument that does not parse
INTERRUPTED: Final = 130  # as in shells: 128 and SIGINT


class NetclaimError(Exception):
    """Every error that netclaim raises on purpose.

    `device` is the key of the allocated device that it is about (pool, device and share), if it is
    about one of several.
    """

    device: tuple[str, str, str] | None = None
    why: Reason = "bug"

    def __str__(self) -> str:
        return sentence(super().__str__())


class RequestError(NetclaimError):
    """The user asked for something that is impossible; trying again does not help."""

    why: Reason = "request"

    def __init__(self, message: str, *, path: Path = ()) -> None:
        """`path` leads to what to change, in a document or as the name of an option."""
        where = show(path)
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.path = path


class PeerError(NetclaimError):
    """Another component failed or was unreachable; trying again may help."""

    why: Reason = "peer"


class HostError(NetclaimError):
    """This machine lacks something that only its admin can provide."""

    why: Reason = "host"


def reason_of(error: BaseException) -> Reason:
    """Return why somebody was refused; an error that is not ours is a bug, or took too long."""
    if isinstance(error, NetclaimError):
        return error.why
    return "timeout" if isinstance(error, TimeoutError) else "bug"


def worst_reason(errors: Iterable[BaseException]) -> Reason:
    """Return the reason that counts among those of several errors."""
    found = {reason_of(error) for error in errors}
    return next((reason for reason in get_args(Reason) if reason in found), "bug")


def faults_in(group: BaseExceptionGroup[NetclaimError]) -> list[NetclaimError]:
    """List the errors of tasks that failed together."""
    faults: list[NetclaimError] = []
    for member in group.exceptions:
        if isinstance(member, BaseExceptionGroup):
            faults += faults_in(member)
        else:
            faults.append(member)
    return faults


def exit_code(faults: Collection[NetclaimError]) -> int:
    """Return the exit code of a program that failed with these errors."""
    return TRY_AGAIN if all(isinstance(fault, PeerError) for fault in faults) else MUST_ACT
