"""Of several replicas one works, and another takes over from one that ends."""

from netclaim.controller.lease import Lease
from netclaim.schema.kinds import LEASE
from tests.support.local.parts import new_verbs, serving


async def test_one_replica_holds_the_lease_until_it_gives_it_back() -> None:
    """Then the other has it at once."""
    verbs = new_verbs("netclaim-system")
    async with serving(verbs) as client:
        first, second = (Lease(client, "netclaim-system", "l", name) for name in ("a", "b"))
        await first.acquire()
        assert not await second.attempt()
        assert await first.attempt()  # it renews
        await first.release()
        assert await second.attempt()
        assert not await first.attempt()
        spec = verbs.get(LEASE, "l", "netclaim-system")["spec"]
        assert spec["holderIdentity"] == "b"


async def test_a_replica_that_does_not_hold_the_lease_gives_nothing_back() -> None:
    """The other one's stays."""
    verbs = new_verbs("netclaim-system")
    async with serving(verbs) as client:
        first, second = (Lease(client, "netclaim-system", "l", name) for name in ("a", "b"))
        await first.acquire()
        await second.attempt()
        await second.release()
        assert verbs.get(LEASE, "l", "netclaim-system")["spec"]["holderIdentity"] == "a"
