"""What can go wrong between a runtime and a CNI plugin.

    PeerError
    ├── CniError               a plugin failed: its code, its message, its details
    │   └── CniDeadlineError   it was still running at its deadline, and was killed
    ├── CniGroupError          several failures of one operation, all kept
    └── BadResultError         bytes that should be a CNI result are none
    HostError
    └── PluginMissingError     no such plugin on this machine; says where it was looked for

`CniError.kind` says who can help, by the code that the plugin chose. Many plugins answer 999 for
everything, so a kind of OTHER proves nothing.
"""

import enum
from collections.abc import Sequence

from netclaim.errors import HostError, PeerError, Reason

NO_CODE = 0  # the plugin failed without a CNI error; no plugin may use it
INCOMPATIBLE_VERSION = 1  # the plugin does not speak the CNI version of its configuration
UNKNOWN_CONTAINER = 3
TRY_AGAIN = 11  # what failed now may work later


class CniErrorKind(enum.Enum):
    """Who can help against a plugin's error."""

    CONFIGURATION = enum.auto()  # the author of the network configuration
    UNKNOWN_CONTAINER = enum.auto()  # nobody needs to: there is nothing to clean up
    TRY_AGAIN = enum.auto()  # time
    NOT_READY = enum.auto()  # those who run the network: STATUS says ADD would not work
    OTHER = enum.auto()


_KINDS = {
    INCOMPATIBLE_VERSION: CniErrorKind.CONFIGURATION,
    2: CniErrorKind.CONFIGURATION,  # unsupported field
    UNKNOWN_CONTAINER: CniErrorKind.UNKNOWN_CONTAINER,
    4: CniErrorKind.CONFIGURATION,  # an argument: interface name, CNI_ARGS
    6: CniErrorKind.CONFIGURATION,  # configuration that cannot be decoded
    7: CniErrorKind.CONFIGURATION,  # invalid network configuration
    TRY_AGAIN: CniErrorKind.TRY_AGAIN,
    50: CniErrorKind.NOT_READY,  # the plugin is not available
    51: CniErrorKind.NOT_READY,  # and existing containers have limited connectivity
}


class CniError(PeerError):
    """A plugin failed; `code`, `msg` and `details` are its own words."""

    why: Reason = "plugin"

    def __init__(
        self, msg: str, *, code: int = NO_CODE, details: str = "", plugin: str, command: str
    ) -> None:
        said = f"{msg}; {details}" if details else msg
        super().__init__(f"CNI plugin {plugin} {command}: {said}")
        self.msg = msg
        self.code = code
        self.details = details
        self.plugin = plugin
        self.command = command

    @property
    def kind(self) -> CniErrorKind:
        """Who can help, by the code."""
        return _KINDS.get(self.code, CniErrorKind.OTHER)


class CniDeadlineError(CniError):
    """A plugin was still running at its deadline, and was killed."""


class PluginBusyError(CniDeadlineError):
    """A plugin was not even started: too many others are running."""


class CniGroupError(PeerError, ExceptionGroup[Exception]):
    """Several failures of one operation; a PeerError, so that who catches those misses none."""

    why: Reason = "plugin"

    def __str__(self) -> str:
        return self.message  # without a count of exceptions, which means nothing to a user


class BadResultError(PeerError):
    """What should be a CNI result is none."""

    why: Reason = "plugin"


class PluginMissingError(HostError):
    """No plugin of this type is installed where plugins are looked for."""

    def __init__(self, plugin: str, path: Sequence[str], *, hint: str = "") -> None:
        """`hint` says what else may have been meant, as the end of a sentence."""
        where = ", ".join(path) or "an empty plugin path"
        super().__init__(f"CNI plugin {plugin!r} is not installed: looked in {where}{hint}")
        self.plugin = plugin
        self.path = tuple(path)
