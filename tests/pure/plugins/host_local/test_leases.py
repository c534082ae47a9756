"""host-local's leases: no address twice, none lost, whatever dies in between."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from netclaim.cni import CniError
from tests.support.plugin_calls import call_of, host_local, printed, server

CONTAINERS = [f"c{number}" for number in range(8)]
ADDRESSES = 5  # of 10.9.0.0/29: without network, gateway and broadcast
# What changes a store; a process may die before each of these calls, with files open and made.
SYSTEM_CALLS = {"flock", "write", "ftruncate", "unlink"}
CALLS_OF_AN_ADD = 5  # one of the first, two each for the lease and for the last address


class Leasing(RuleBasedStateMachine):
    """Containers come and go, processes die and begin anew, all on one range.

    The model is who was told which address. A container whose ADD died was told nothing: it may or
    may not have a lease until its DEL, which is always due then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="nct-leases-"))
        self.config = host_local(self.directory, [{"subnet": "10.9.0.0/29"}])
        self.told: dict[str, str] = {}
        self.unclear: set[str] = set()
        self.server = server("host-local")

    def call(
        self, command: str, container: str = "c0", added: dict[str, Any] | None = None
    ) -> bytes:
        """Make a call in this process."""
        call = call_of(command, self.config | (added or {}), container_id=container)
        return asyncio.run(self.run(call))

    async def run(self, call: Any) -> bytes:
        """Have the plugin serve the call."""
        return await printed(self.server, call)

    @rule(container=st.sampled_from(CONTAINERS))
    def add(self, container: str) -> None:
        """Attach; fails only for who has an address, or when there is none left."""
        try:
            result = json.loads(self.call("ADD", container))
        except CniError:
            taken = len(self.told) + len(self.unclear)
            assert container in {*self.told, *self.unclear} or taken >= ADDRESSES
            return
        address = result["ips"][0]["address"]
        assert container not in self.told
        assert address not in self.told.values()
        self.told[container] = address
        self.unclear.discard(container)

    @rule(container=st.sampled_from(CONTAINERS))
    def delete(self, container: str) -> None:
        """Detach; always works."""
        self.call("DEL", container)
        self.told.pop(container, None)
        self.unclear.discard(container)

    @rule(
        container=st.sampled_from(CONTAINERS),
        command=st.sampled_from(["ADD", "DEL"]),
        at=st.integers(0, CALLS_OF_AN_ADD),
    )
    def die(self, container: str, command: str, at: int) -> None:
        """A process dies somewhere in an ADD or a DEL, and its caller gets no answer."""
        if command == "ADD" and container in self.told:
            return  # fails in any case, and what it has stays
        self.told.pop(container, None)
        self.unclear.add(container)
        child = os.fork()
        if child == 0:
            _dying(at, lambda: self.call(command, container))
        os.waitpid(child, 0)

    @rule()
    def restart(self) -> None:
        """Begin anew."""
        self.server = server("host-local")

    @precondition(lambda self: self.unclear)
    @rule()
    def collect(self) -> None:
        """Garbage collection, with those valid that were told an address."""
        valid = [{"containerID": one, "ifname": "net1"} for one in self.told]
        self.call("GC", added={"cni.dev/valid-attachments": valid})
        self.unclear.clear()

    @invariant()
    def everyone_has_what_it_was_told(self) -> None:
        """Each told address has its lease, and nobody else has one."""
        leases = {
            path.name: path.read_text().split()[0]
            for path in self.directory.glob("net/10.*")
            if path.read_text()
        }
        for container, address in self.told.items():
            assert leases.pop(address.partition("/")[0]) == container
        assert set(leases.values()) <= self.unclear

    def teardown(self) -> None:
        """When all have gone, all addresses are to be had again."""
        for container in CONTAINERS:
            self.delete(container)
        for container in CONTAINERS[:ADDRESSES]:
            self.add(container)
        assert len(set(self.told.values())) == ADDRESSES
        for path in sorted(self.directory.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        self.directory.rmdir()


def _dying(at: int, action: Any) -> None:
    """Do something, and die at the given one of its system calls."""
    left = at

    def count(_frame: FrameType, event: str, called: Any) -> None:
        nonlocal left
        left -= event == "c_call" and called.__name__ in SYSTEM_CALLS
        if left < 0:
            os._exit(1)

    sys.setprofile(count)
    try:
        action()
    finally:
        os._exit(0)


TestLeasing = Leasing.TestCase
TestLeasing.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
