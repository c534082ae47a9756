"""What the plugins have in common whose host is the containers' gateway.

Promise: DEL and GC remove the packet rules too. Where iptables writes them, the reference program
serves the whole DEL, as it served the ADD.
"""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.engine.program import Program
from netclaim.plugins.shared.ipam import Ipam
from netclaim.plugins.shared.main_plugin import MainPlugin
from netclaim.plugins.shared.masquerade import (
    MasqueradeConf,
    collect,
    needs_iptables,
    unmasquerade,
)


class GatewayPlugin(MainPlugin):
    """A plugin that may masquerade its containers' addresses."""

    rules_conf: ClassVar[type[MasqueradeConf]] = MasqueradeConf  # the keys about packet rules

    def __init__(self, ipam: Ipam, program: Program) -> None:
        """`program` is the reference plugin, which is called where iptables is."""
        super().__init__(ipam)
        self.program = program

    async def delete(self, invocation: Invocation) -> None:
        """Remove the link and the rules, and release the addresses; may be repeated."""
        if needs_iptables(invocation.conf(self.rules_conf)):
            await self.program.delete(invocation)
            return
        await super().delete(invocation)

    def undoing(self) -> tuple[Callable[[Invocation], Awaitable[None]], ...]:
        return self.take_back, self.remove_rules, self.release

    async def remove_rules(self, invocation: Invocation) -> None:
        """Remove the packet rules of the attachment."""
        await unmasquerade(invocation.conf(MasqueradeConf), invocation.endpoint.key)

    async def gc(self, invocation: Invocation) -> None:
        """Also remove the rules of attachments that are no longer valid."""
        await super().gc(invocation)
        await collect(invocation.conf(self.rules_conf), invocation.valid_attachments())
