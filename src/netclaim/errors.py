"""The error tree: every error says who must act.

    NetclaimError
    ├── RequestError   the user acts: a manifest, a claim or an argument asks for what cannot be
    ├── PeerError      we act, by trying again: the API server, kubelet, runtime or a plugin failed
    └── HostError      the node's owner acts: a privilege, a path, a kernel feature is missing

Code tells errors apart by class and fields, never by their text. What a user sees of an error is
`str(error)`: one line that says what is wrong and what to change. A program that ends with one says
by its exit code who must act: 2 the user or the node's owner, 1 nobody, trying again may help.
"""

from collections.abc import Collection
from typing import Final

from netclaim.paths import Path, show

__all__ = ["HostError", "NetclaimError", "PeerError", "RequestError", "exit_code", "faults_in"]

TRY_AGAIN: Final = 1
MUST_ACT: Final = 2  # as for an argument that does not parse


class NetclaimError(Exception):
    """Whatever netclaim raises on purpose.

    `device` is the key of the allocated device that it is about (pool, device and share), if it is
    about one of several.
    """

    device: tuple[str, str, str] | None = None


class RequestError(NetclaimError):
    """The user asked for something that cannot be; trying again does not help."""

    def __init__(self, message: str, *, path: Path = ()) -> None:
        """`path` leads to what to change, in a document or as the name of an option."""
        where = show(path)
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.path = path


class PeerError(NetclaimError):
    """Another party failed or was out of reach; trying again may help."""


class HostError(NetclaimError):
    """This machine lacks something that only its owner can give."""


def faults_in(group: BaseExceptionGroup[NetclaimError]) -> list[NetclaimError]:
    """List what tasks that failed together failed of."""
    faults: list[NetclaimError] = []
    for member in group.exceptions:
        if isinstance(member, BaseExceptionGroup):
            faults += faults_in(member)
        else:
            faults.append(member)
    return faults


def exit_code(faults: Collection[NetclaimError]) -> int:
    """With what to end a program that failed of these."""
    return TRY_AGAIN if all(isinstance(fault, PeerError) for fault in faults) else MUST_ACT
