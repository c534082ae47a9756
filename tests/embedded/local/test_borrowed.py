"""What a machine does not lend to an embedded cluster; a guest with cards shows what it does."""

import pytest

from netclaim.errors import HostError, RequestError
from netclaim.kernel import Netns, Rtnl, find_link, new_netns
from netclaim.kernel.requests.links import bridge, create_link
from netclaim.local.machine import borrowed_links
from netclaim.local.topology import Link

pytestmark = pytest.mark.embedded


async def borrow(name: str, machine: Netns | None) -> None:
    """Lend a link to a node."""
    with new_netns() as node:
        async with borrowed_links([Link("n", name, of_machine=True)], machine, {"n": node}):
            pytest.fail("it was lent")


async def test_a_virtual_link_stays() -> None:
    """It would end with the namespace that it is lent to."""
    with new_netns() as machine, Rtnl.open(machine) as rtnl:
        await rtnl.call(create_link("dev0", bridge()))
        with pytest.raises(RequestError, match="dev0 of this machine is a bridge"):
            await borrow("dev0", machine)
        with pytest.raises(RequestError, match="lo of this machine is a loopback"):
            await borrow("lo", machine)
        assert await find_link(rtnl, "dev0") is not None


async def test_a_card_must_be_there() -> None:
    """The error names it, and so it does where the machine itself is not known."""
    missing = pytest.raises(RequestError, match="this machine has no link ens1f0")
    with new_netns() as machine, missing:
        await borrow("ens1f0", machine)
    with pytest.raises(HostError, match="the network namespace that has ens1f0 is not known"):
        await borrow("ens1f0", None)


async def test_nothing_is_lent_by_default() -> None:
    """A topology without cards needs no machine."""
    async with borrowed_links([], None, {}):
        pass
