"""What the plugins that make or move a link have in common.

Promise: DEL removes the link and releases the addresses, each also when the other fails, with the
namespace gone, and however little of the configuration makes sense any more.
Limit: a plugin with more to undo adds its own.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from netclaim.errors import NetclaimError
from netclaim.plugins.engine.conf import NetConf
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.plugin import Asked, Invocation, Plugin
from netclaim.plugins.engine.pod import delete_link
from netclaim.plugins.shared.ipam import Ipam


def refuse_without_ipam(plugin: str, raw: Mapping[str, Any]) -> None:
    """Raise ConfError where nobody manages the addresses that a plugin needs."""
    if not raw.get("ipam", {}).get("type"):
        message = f"ipam is missing; {plugin} needs addresses, for example from host-local"
        raise ConfError(message, path=("ipam",))


class MainPlugin(Plugin):
    """A plugin that gives a container a link, and has its addresses managed by another."""

    has_addresses = True
    needs_ipam: ClassVar[bool] = False  # whether ADD is refused without

    def __init__(self, ipam: Ipam) -> None:
        self.ipam = ipam

    @classmethod
    def refuse(cls, raw: Mapping[str, Any], asked: Asked) -> None:  # noqa: ARG003 -- for some
        """Raise without `ipam` where it is needed."""
        if cls.needs_ipam:
            refuse_without_ipam(str(raw.get("type", "")), raw)

    async def delete(self, invocation: Invocation) -> None:
        """Remove the link, then release its addresses; may be repeated.

        The other way round where a server has to hear of it by that link.
        """
        failed: list[NetclaimError] = []
        steps = self.undoing()
        if self._releases_first(invocation):
            steps = (self.release, *(step for step in steps if step != self.release))
        for step in steps:
            try:
                await step(invocation)
            except NetclaimError as error:
                failed.append(error)
        # What the configuration cannot mean was not done; what else went wrong has to be reported.
        real = [error for error in failed if not isinstance(error, ConfError)]
        if failed:
            first, *others = real or failed
            for other in others:
                first.add_note(f"also: {other}")
            raise first

    def undoing(self) -> tuple[Callable[[Invocation], Awaitable[None]], ...]:
        """Return the steps of DEL, all of which are tried."""
        return self.take_back, self.release

    async def take_back(self, invocation: Invocation) -> None:
        """Remove what ADD put into the container, if it is still there."""
        await delete_link(invocation.endpoint.netns, invocation.endpoint.ifname)

    async def release(self, invocation: Invocation) -> None:
        """Release the addresses, if they are managed."""
        if invocation.conf(NetConf).ipam.type:
            await self.ipam.release(invocation)

    def _releases_first(self, invocation: Invocation) -> bool:
        try:
            managed = invocation.conf(NetConf).ipam.type
            return bool(managed) and self.ipam.releases_first(invocation)
        except NetclaimError:  # what cannot be read is said by the steps
            return False

    async def status(self, invocation: Invocation) -> None:
        """Ready if there are addresses to be had, where they are managed or have to be."""
        if self.needs_ipam or invocation.conf(NetConf).ipam.type:
            await self.ipam.status(invocation)

    async def gc(self, invocation: Invocation) -> None:
        """Release the addresses of attachments that are no more; their links went with them."""
        if invocation.conf(NetConf).ipam.type:
            await self.ipam.gc(invocation)
