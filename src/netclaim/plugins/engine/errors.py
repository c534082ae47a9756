"""What a plugin in process says when it cannot do what it is asked.

    NetclaimError
    └── PluginError    becomes the CniError of the call that was served
        └── ConfError  the configuration makes no sense: an ADD with it has done nothing

`code` is CNI's: what the reference plugins answer in the same case. They answer INTERNAL for nearly
everything that is not the protocol itself, and so do we.
"""

from typing import Final

from netclaim.errors import NetclaimError
from netclaim.paths import Path

BAD_ENVIRONMENT: Final = 4
UNDECODABLE: Final = 6
BAD_NETWORK: Final = 7
BAD_NETNS: Final = 8
INTERNAL: Final = 999


class PluginError(NetclaimError):
    """A plugin cannot do what it is asked."""

    def __init__(self, message: str, *, code: int = INTERNAL, details: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.details = details


class ConfError(PluginError):
    """The configuration makes no sense, whatever is on the machine.

    An ADD that is asked with it has refused it before it did anything, so a DEL that is asked with
    it has nothing to undo.
    """

    def __init__(
        self, message: str, *, path: Path = (), code: int = INTERNAL, details: str = ""
    ) -> None:
        """`path` leads from the object that is read to what to change, where that is known."""
        super().__init__(message, code=code, details=details)
        self.path = path
