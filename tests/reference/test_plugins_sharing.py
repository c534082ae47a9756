"""Ours and the reference program on one store of leases at the same time."""

import asyncio
import itertools
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netclaim.cni import CniCall, CniError, Command, Endpoint, ExecPlugins, Plugins
from netclaim.plugins import in_process_plugins

pytestmark = pytest.mark.reference

AMPLE_S = 60.0


class Sharing:
    """Two servers of host-local, and a range of 13 addresses between them."""

    def __init__(self, cni_plugins: Path, directory: Path) -> None:
        programs = ExecPlugins(inherited=os.environ, deadline_s=AMPLE_S)
        self.servers: list[Plugins] = [programs, in_process_plugins(programs)["host-local"]]
        self._path = (str(cni_plugins),)
        self._directory = directory
        ipam = {
            "type": "host-local",
            "dataDir": str(directory),
            "ranges": [[{"subnet": "10.9.0.0/28"}]],
        }
        config = {"cniVersion": "1.0.0", "name": "net", "type": "host-local", "ipam": ipam}
        self._config = config

    async def call(self, server: Plugins, command: Command, container: str) -> str:
        """Have one of the servers do something for a container; returns its address."""
        endpoint = Endpoint(container, "/gone", "net1")
        call = CniCall(command, "host-local", self._path, self._config, endpoint)
        result = await server.run(call)
        return result.ips[0].address if result else ""

    def leases(self) -> set[str]:
        """Return the addresses that are taken."""
        return {path.name for path in self._directory.glob("net/10.*")}


@pytest.fixture
def sharing(cni_plugins: Path, tmp_path: Path) -> Sharing:
    """A store that is empty, and both servers."""
    return Sharing(cni_plugins, tmp_path)


async def test_at_once_they_hand_out_no_address_twice(sharing: Sharing) -> None:
    """Of 20 ADDs on 13 addresses 13 succeed, on either server; each can release the other's."""
    for _ in range(3):
        servers = itertools.cycle(sharing.servers)
        adds = [sharing.call(next(servers), Command.ADD, f"c{n}") for n in range(20)]
        results = await asyncio.gather(*adds, return_exceptions=True)
        addresses = [result for result in results if isinstance(result, str)]
        refused = [result for result in results if isinstance(result, CniError)]
        assert (len(addresses), len(set(addresses)), len(refused)) == (13, 13, 7)
        assert {address.partition("/")[0] for address in addresses} == sharing.leases()
        next(servers)  # now each releases what the other leased
        dels = [sharing.call(next(servers), Command.DEL, f"c{n}") for n in range(20)]
        await asyncio.gather(*dels)
        assert sharing.leases() == set()


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(st.sampled_from(["ADD", "DEL"]), st.integers(0, 1), st.integers(0, 4)),
        max_size=25,
    )
)
def test_in_turn_they_agree_on_who_has_what(
    sharing: Sharing, steps: list[tuple[str, int, int]]
) -> None:
    """Whatever one leases or releases, the other knows; nothing is left when all have gone."""

    async def play() -> None:
        told: dict[str, str] = {}
        for command, server, number in steps:
            container = f"c{number}"
            try:
                address = await sharing.call(sharing.servers[server], Command(command), container)
            except CniError:
                assert command == "ADD"
                assert container in told
                continue
            if command == "DEL":
                told.pop(container, None)
            else:
                assert container not in told
                assert address not in told.values()
                told[container] = address
            assert sharing.leases() == {one.partition("/")[0] for one in told.values()}
        for number in range(5):
            await sharing.call(sharing.servers[number % 2], Command.DEL, f"c{number}")
        assert sharing.leases() == set()

    asyncio.run(play())
