"""What a plugin type is: the five things that a runtime can ask of it, and how it is asked.

Promise: an `Invocation` that exists is well-formed: a named network, a version that is spoken, an
endpoint where the command is about one.
Limit: knows the protocol only. What `python -m netclaim.plugins` adds to it, and what the driver
does, comes to the same `Invocation`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from netclaim.cni import AttachmentKey, BadResultError, CniCall, Endpoint, Result
from netclaim.cni.result import result_from
from netclaim.cni.version import NO_VERSION
from netclaim.plugins.engine.conf import Conf, lowered, read_conf
from netclaim.plugins.engine.errors import BAD_NETWORK, UNDECODABLE, PluginError

C = TypeVar("C", bound=Conf)

PREVIOUS = "prevResult"  # its keys are read as they are written, by the module for results
VALID = ("cni.dev/valid-attachments", "cni.dev/attachments")  # the second is an early misprint


@dataclass(frozen=True)
class Invocation:
    """One call of a plugin that the protocol allows, and its configuration."""

    call: CniCall
    version: str  # of CNI, as the configuration says

    @property
    def endpoint(self) -> Endpoint:
        """The interface of the container that the call is about."""
        assert self.call.endpoint is not None, "GC and STATUS are about no endpoint"
        return self.call.endpoint

    def conf(self, kind: type[C]) -> C:
        """Read the configuration as that of one plugin."""
        return read_conf(self._folded, kind)

    @cached_property
    def _folded(self) -> dict[str, Any]:
        return folded(self.call.config)

    def previous(self) -> Result | None:
        """Return the result of the plugin before this one, or on CHECK and DEL of the ADD.

        A configuration that was written for a program has it in its text.
        """
        written = self.call.config.get(PREVIOUS)
        if self.call.previous is not None or written is None:
            return self.call.previous
        try:
            return result_from(written, self.version)
        except BadResultError as error:
            raise PluginError(f"prevResult is not valid: {error}") from error

    def required_previous(self) -> Result:
        """Return the result of the ADD, without which CHECK has nothing to compare."""
        previous = self.previous()
        if previous is None:
            raise PluginError("prevResult is missing")
        return previous

    def valid_attachments(self) -> frozenset[AttachmentKey]:
        """Return what GC must leave alone.

        A missing list is an error: it cannot mean that nothing is in use.
        """
        config = self.call.config
        try:
            listed = next(config[key] for key in VALID if key in config)
            return frozenset(
                AttachmentKey(one["containerID"], one["ifname"]) for one in listed or ()
            )
        except StopIteration as error:
            raise PluginError(f"{VALID[0]} is missing", code=BAD_NETWORK) from error
        except (KeyError, TypeError) as error:
            message = f"{VALID[0]} is not a list of attachments"
            raise PluginError(message, code=UNDECODABLE) from error


def folded(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plugin's own configuration, as `lowered` leaves its keys."""
    own: dict[str, Any] = lowered({key: config[key] for key in config if key != PREVIOUS})
    return own


@dataclass(frozen=True, slots=True)
class Asked:
    """What a configuration is for, as far as that is known before an ADD."""

    version: str  # of CNI
    first: bool = True  # whether the plugin is the first of its list
    ifname: str = "net1"


class Plugin(ABC):
    """One plugin type: what it does, and what there is to know of its configuration.

    Each method raises PluginError, or whatever NetclaimError stopped it. Cancelled, it stops at
    once; a DEL is due then, as after an ADD that failed.
    """

    oldest: ClassVar[str] = NO_VERSION  # version of CNI that the plugin speaks
    confs: ClassVar[tuple[type[Conf], ...]] = ()  # the classes of its configuration, for the keys
    ipam_conf: ClassVar[type[Conf] | None] = None  # of what it reads under `ipam`
    needs_interface: ClassVar[bool] = False  # whether it lets go of addresses by the interface
    has_addresses: ClassVar[bool] = False  # whether it has them managed, as `ipam` says
    needs_previous: ClassVar[bool] = False  # whether ADD works only on what an earlier plugin made
    takes_mac: ClassVar[bool] = False  # whether the runtime can pass it a MAC
    beyond_reference: ClassVar[tuple[str, ...]] = ()  # keys that no program of its name knows
    link_key: ClassVar[str] = ""  # by which it names a link of the node
    other_link_keys: ClassVar[tuple[str, ...]] = ()  # further ways to name it
    pod_link_key: ClassVar[str] = ""  # that makes it look for the link in the pod instead
    moves_link: ClassVar[bool] = False  # whether the link itself goes into the pod
    has_default_link: ClassVar[bool] = False  # whether it chooses the link where none is named

    @classmethod  # noqa: B027 -- most refuse nothing
    def refuse(cls, raw: Mapping[str, Any], asked: Asked) -> None:
        """Raise ConfError where a configuration, with folded keys, could not be served by ADD."""

    @classmethod
    def takes_link(cls, config: Mapping[str, Any]) -> str:  # noqa: ARG003 -- for some to look at
        """Say what of it leaves nothing of the link for others; empty where nothing does."""
        return ""

    @classmethod
    def hands_over(cls, config: Mapping[str, Any]) -> bool:  # noqa: ARG003 -- for some to look at
        """Whether a program gets the link's hardware, so that there is no interface."""
        return False

    @abstractmethod
    async def add(self, invocation: Invocation) -> Result:
        """Attach; has undone what it did when it raises. A second ADD needs a DEL before it."""

    @abstractmethod
    async def delete(self, invocation: Invocation) -> None:
        """Detach; succeeds also if there is nothing left, or no namespace any more."""

    @abstractmethod
    async def check(self, invocation: Invocation) -> None:
        """Raise unless everything is as ADD left it."""

    async def status(self, invocation: Invocation) -> None:  # noqa: B027 -- most have nothing to say
        """Raise when an ADD could not be served now."""

    async def gc(self, invocation: Invocation) -> None:  # noqa: B027 -- some keep nothing
        """Let go of all that belongs to no valid attachment of this network."""
