"""The lab's API server for the campaign: objects in and out, without a process for each call.

A call that gets no answer raises AwayError: during some faults nobody answers, and a caller that
polls goes on polling. Several threads may use it; each call has a connection to itself.
"""

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any

from lab.cluster import Lab
from netclaim.manifests.kinds import GROUP, KINDS
from netclaim.manifests.versions.conversion import from_v1

__all__ = ["Api", "AwayError", "RefusedError"]

ANSWER_S = 10.0  # a paused API server accepts connections and says nothing
CREATED, NOT_FOUND, CONFLICT = 201, 404, 409


class AwayError(Exception):
    """Nobody answers, or only to say that nobody is there."""


class RefusedError(Exception):
    """The API server does not want this object; the campaign itself is wrong."""


class Api:
    """Speaks with the admin's certificate, in one namespace."""

    def __init__(self, lab: Lab, namespace: str) -> None:
        self.namespace = namespace
        self._port = lab.state.load().port
        self._version = lab.binaries.release.resource_version
        self._tls = ssl.create_default_context(cafile=str(lab.state.pki / "ca.crt"))
        self._tls.load_cert_chain(lab.state.pki / "admin.crt", lab.state.pki / "admin.key")
        # Kept open: a handshake costs more than an answer. Taking and adding are atomic.

    def create(self, manifest: Mapping[str, Any]) -> None:
        """Create an object of the namespace, of v1 if it is one for claims, unless it exists."""
        kind = manifest["kind"]
        served = from_v1(dict(manifest), kind, self._version) if kind in KINDS else manifest
        status, answer = self._call("POST", self._path(manifest), served)
        if status not in (CREATED, CONFLICT):
            raise RefusedError(f"{manifest['metadata']['name']}: {status} {answer}")

    def items(self, kind: str, selector: str = "") -> list[dict[str, Any]]:
        """Return the objects of a kind, such as `pods`, in the namespace."""
        query = f"?labelSelector={selector}" if selector else ""
        status, answer = self._call("GET", f"{self._base(kind)}/{kind}{query}")
        if status != http.client.OK:
            raise AwayError(f"{kind}: {status}")
        found: list[dict[str, Any]] = answer["items"]
        return found

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return one object of the namespace; None if there is none."""
        status, answer = self._call("GET", f"{self._base(kind)}/{kind}/{name}")
        if status == NOT_FOUND:
            return None
        if status != http.client.OK:
            raise AwayError(f"{kind}/{name}: {status}")
        return answer

    def delete(self, kind: str, name: str, *, force: bool = False) -> None:
        """Have an object removed, if it exists; `force` does not wait for its node."""
        query = "?gracePeriodSeconds=0" if force else ""
        status, _ = self._call("DELETE", f"{self._base(kind)}/{kind}/{name}{query}")
        if status >= http.client.INTERNAL_SERVER_ERROR:
            raise AwayError(f"{kind}/{name}: {status}")

    def _path(self, manifest: Mapping[str, Any]) -> str:
        kind = f"{manifest['kind'].lower()}s"
        return f"{self._base(kind)}/{kind}"

    def _base(self, kind: str) -> str:
        group = f"/apis/{GROUP}/{self._version}" if kind.startswith("resource") else "/api/v1"
        return f"{group}/namespaces/{self.namespace}"

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        connection = self._connection()
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, _encoded(body) if body else None, headers)
            answer = connection.getresponse()
            status, content = answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise AwayError(f"{method} {path}: {error}") from error
        finally:
            connection.close()  # one that is kept may be closed by a server that was restarted
        return status, content

    def _connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=self._tls, timeout=ANSWER_S
        )


def _encoded(body: Mapping[str, Any]) -> str:
    """Compact and sorted, as kubectl writes JSON.

    With blanks and unsorted keys in a claim's parameters, the API server (1.36) refuses the
    driver's status: it finds the allocation changed. Not what is tested here.
    """
    return json.dumps(body, sort_keys=True, separators=(",", ":"))
