"""Of several replicas one works, and another takes over from one that ends."""

from typing import Any, cast

from netclaim.controller.process.lease import Lease
from netclaim.kube import Client, UnreachableError
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


class Line:
    """A client whose connection can be cut."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.cut = False

    async def get(self, *args: Any, **options: Any) -> Any:
        """What the API server answers, if it can be reached."""
        return await self._through(self._client.get, args, options)

    async def update(self, *args: Any, **options: Any) -> Any:
        """The same."""
        return await self._through(self._client.update, args, options)

    async def create(self, *args: Any, **options: Any) -> Any:
        """The same."""
        return await self._through(self._client.create, args, options)

    async def _through(self, call: Any, args: Any, options: Any) -> Any:
        if self.cut:
            raise UnreachableError("the API server", "Connection refused")
        return await call(*args, **options)


async def test_a_replica_that_lost_the_lease_asks_before_it_works_again() -> None:
    """While nobody answers it may go on for a while; but once it has stopped, it waits."""
    verbs = new_verbs("netclaim-system")
    async with serving(verbs) as client:
        line = Line(client)
        lease = Lease(cast("Client", line), "netclaim-system", "l", "a")
        await lease.acquire()
        line.cut = True
        assert await lease.attempt()
        await lease.release()  # which cannot be said to anybody
        assert not await lease.attempt()
        line.cut = False
        assert await lease.attempt()  # nobody else has taken it
        spec = verbs.get(LEASE, "l", "netclaim-system")["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("a", 1)
