"""Namespaces that end with what runs in them, and the machine that a cluster sees inside."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from netclaim.errors import HostError, PeerError, RequestError
from netclaim.kernel import Rtnl, list_addresses, list_links
from netclaim.local.input.topology_file import load_topology
from netclaim.local.machine import (
    NodePlace,
    add_netns,
    build_world,
    contained,
    enter_node,
    wire_cluster,
)
from netclaim.local.machine import remove_netns as take_away
from netclaim.local.topology import DEFAULT_TOPOLOGY

pytestmark = pytest.mark.embedded


def own_namespaces() -> dict[str, str]:
    """The namespaces of this process."""
    kinds = ("net", "mnt", "pid", "ipc")
    return {kind: str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in kinds}


def raising(error: BaseException) -> Callable[[], int]:
    """An action that fails."""

    def action() -> int:
        raise error

    return action


def test_action_is_alone() -> None:
    """Inside, the action is process 1 of namespaces of its own; outside, nothing has changed."""
    before = own_namespaces()

    def action() -> int:
        assert os.getpid() == 1
        assert not before.items() & own_namespaces().items()
        return 7

    assert contained(action) == 7
    assert own_namespaces() == before


@pytest.mark.parametrize("kind", [RequestError, PeerError, HostError])
def test_our_errors_come_out(kind: type[Exception]) -> None:
    """An error of ours inside is raised outside, of the same sort and with the same words."""
    with pytest.raises(kind, match=r"^no luck$"):
        contained(raising(kind("no luck")))


def test_several_errors_come_out_together() -> None:
    """A group of errors comes out as one."""
    group = ExceptionGroup("tasks", [PeerError("one"), ExceptionGroup("", [HostError("two")])])
    with pytest.raises(ExceptionGroup) as caught:
        contained(raising(group))
    assert [str(error) for error in caught.value.exceptions] == ["one", "two"]


def test_other_errors_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """A mistake of ours inside is printed with its traceback, and the exit code tells."""
    assert contained(raising(ZeroDivisionError("oh"))) == 1
    assert "ZeroDivisionError: oh" in capfd.readouterr().err


def test_interrupt_and_exit_have_their_codes() -> None:
    """Ctrl-C inside is 130; an exit keeps its code."""
    assert contained(raising(KeyboardInterrupt())) == 130
    assert contained(raising(SystemExit(5))) == 5


def test_nothing_survives_the_caller() -> None:
    """When the calling process is killed, everything inside is gone with it."""
    program = (
        "import os, signal, subprocess, sys\n"
        "from netclaim.local.machine import contained\n"
        "def action():\n"
        "    subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "    os.write(1, b'up')\n"
        "    signal.pause()\n"
        "contained(action)\n"
    )
    outer = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert outer.stdout is not None
    with outer.stdout as pipe:
        assert pipe.read(2) == b"up"
        os.kill(outer.pid, signal.SIGKILL)
        outer.wait()
        assert pipe.read() == b""  # the pipe ends when the last process that has it is gone


def test_world_is_the_clusters_own() -> None:
    """Inside, /run is empty memory, and what is written there never reaches the machine."""
    mark = Path("/run/netclaim-test-mark")

    def action() -> int:
        host_pid = build_world()
        assert host_pid > 1
        assert sorted(path.name for path in Path("/run").iterdir()) == ["netns", "nodes"]
        mark.touch()
        assert int(Path("/proc/self").readlink().name) == os.getpid() == 1
        return 0

    assert contained(action) == 0
    assert not mark.exists()


def test_node_has_its_links_and_its_own_library() -> None:
    """A process of a node sees the node's links, in /sys too, and a /var/lib of the node's."""
    show = "ls /sys/class/net; touch /var/lib/mark; ls /var/lib"

    def action() -> int:
        build_world()
        topology = load_topology(DEFAULT_TOPOLOGY)
        places = [NodePlace(name, number) for number, name in enumerate(topology.nodes)]
        for place in places:
            place.make()
        nodes = {place.name: add_netns(place.netns) for place in places}
        asyncio.run(wire_cluster(topology, nodes))
        worker = places[1]
        shown = subprocess.run(
            ["sh", "-c", show], preexec_fn=enter_node(worker), capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert shown.stdout.split() == ["cni0", "eth0", "eth1", "lo", "mark"]
        assert (worker.lib / "mark").exists()
        assert not (places[0].lib / "mark").exists()
        return 0

    assert contained(action) == 0


def test_nodes_are_wired_as_the_topology_says() -> None:
    """Every node has its links, up, its address and a bridge for its pods."""
    topology = load_topology(DEFAULT_TOPOLOGY)

    async def scenario() -> int:
        build_world()
        places = [NodePlace(name, number) for number, name in enumerate(topology.nodes)]
        nodes = {place.name: add_netns(place.netns) for place in places}
        await wire_cluster(topology, nodes)
        for name, netns in nodes.items():
            with Rtnl.open(netns) as rtnl:
                links = await list_links(rtnl)
                addresses = await list_addresses(rtnl)
            assert {link.name for link in links if link.up} == {
                "lo", "cni0", *topology.links_of(name),
            }  # fmt: skip
            assert topology.address(name) in {address.ip for address in addresses}
        return 0

    assert contained(lambda: asyncio.run(scenario())) == 0


def test_namespace_is_taken_away_once() -> None:
    """Taking a namespace away again does nothing; its path is free."""

    def action() -> int:
        build_world()
        path = Path("/run/netns/cni-x")
        add_netns(path).close()
        with pytest.raises(HostError):
            add_netns(path)
        take_away(path)
        take_away(path)
        assert not path.exists()
        return 0

    assert contained(action) == 0
