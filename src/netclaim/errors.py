"""The error tree: every error says who must act.

    NetclaimError
    ├── RequestError   the user acts: a manifest, a claim or an argument asks for what cannot be
    ├── PeerError      we act, by trying again: the API server, kubelet, runtime or a plugin failed
    └── HostError      the node's owner acts: a privilege, a path, a kernel feature is missing

Code tells errors apart by class and fields, never by their text. What a user sees of an error is
`str(error)`: one line that says what is wrong and what to change.
"""

__all__ = ["HostError", "NetclaimError", "PeerError", "RequestError"]


class NetclaimError(Exception):
    """Whatever netclaim raises on purpose."""


class RequestError(NetclaimError):
    """The user asked for something that cannot be; trying again does not help."""

    def __init__(self, message: str, *, field: str = "") -> None:
        """`field` is the path of what to change, such as `spec.devices.config[0]`; may be empty."""
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


class PeerError(NetclaimError):
    """Another party failed or was out of reach; trying again may help."""


class HostError(NetclaimError):
    """This machine lacks something that only its owner can give."""
