"""A machine to attack: a node of its own with links, neighbours, files and programs that are traps.

    wire ──┬── uplink   the node's default route                 192.0.2.10, 2001:db8:1::10
           ├── addr1    has an address that the cluster knows    198.51.100.10
           ├── api1     the way to the API server                203.0.113.0/24
           ├── own1     the attacker's, if it is allocated
           ├── shared1  any number of claims may have it
           ├── admin1   a link that an admin looks at
           └── other1   another tenant's
    br1, cni0           bridges of the node; cni0 is the primary network's and withheld

The victim's pod stands on every link but own1. What runs `inside` is in the node's network
namespace, with /etc, /run and /var/lib of the machine's own: not even a hole that is found reaches
the real ones.
"""

import ctypes
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from netclaim.kernel import Netns, call_in, socket_in
from netclaim.kernel.host.sysctls.sysctl import write_sysctl
from netclaim.model.on_node.node import NodeFacts
from tests.support.kernel_support import fresh_netns, name_of

__all__ = [
    "CANARY",
    "CARRIES",
    "FACTS",
    "OWN",
    "STANDING",
    "TRAPS",
    "Machine",
    "fresh_machine",
    "inside",
]

T = TypeVar("T")

CLONE_NEWNET: Final = 0x40000000
CLONE_NEWNS: Final = 0x20000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000  # linux/mount.h

OWN: Final = "own1"
STANDING: Final = ("uplink", "addr1", "api1", "shared1", "admin1", "other1", "br1")
CARRIES: Final = {"uplink": "192.0.2.10/24", "addr1": "198.51.100.10/24", "api1": "10.99.0.1/24"}
FACTS: Final = NodeFacts(addresses=("192.0.2.10", "198.51.100.10"), api_addresses=("203.0.113.5",))
CANARY: Final = "canary"  # stands in every file that nobody may read
VICTIM_ADDRESS, NEIGHBOUR_ADDRESS = "10.77.0.2", "10.77.0.1"
ECHO_PORT: Final = 7007
PATIENCE_S: Final = 30  # for a machine under load; an answer takes no time at all

# Programs that would leave a trace if they ran: those of the plugin types, and others.
TRAPS: Final = (
    "bandwidth", "bridge", "dhcp", "dummy", "evil", "firewall", "host-device", "host-local",
    "ipvlan", "loopback", "macvlan", "portmap", "ptp", "sbr", "sriov", "static", "tap", "tuning",
    "vlan", "vrf",
)  # fmt: skip
TRAP: Final = """#!/bin/sh
echo "$CNI_COMMAND $0" >>"{trace}"
echo '{{"cniVersion": "1.0.0"}}'
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """The namespaces and directories of the machine."""

    node: Netns
    wire: Netns
    victim: Netns
    pod: Netns
    root: Path

    @property
    def traps(self) -> Path:
        """The directory of plugin programs."""
        return self.root / "traps"

    @property
    def watched(self) -> tuple[str, ...]:
        """Every file that is nobody's to touch."""
        watched = ("etc", "home", "run/cni", "sprung", "traps", "var-lib")
        return tuple(str(self.root / name) for name in watched)

    def victim_answers(self) -> bool:
        """Whether the victim's pod can be reached over the link that it shares."""
        datagram = (int(socket.AF_INET), int(socket.SOCK_DGRAM), 0)
        with (
            socket_in(self.victim, *datagram) as victim,
            socket_in(self.wire, *datagram) as neighbour,
        ):
            victim.bind((VICTIM_ADDRESS, ECHO_PORT))
            for end in (victim, neighbour):
                end.settimeout(PATIENCE_S)
            neighbour.sendto(b"ping", (VICTIM_ADDRESS, ECHO_PORT))
            heard, sender = victim.recvfrom(64)
            victim.sendto(heard, sender)
            return neighbour.recv(64) == b"ping"


@contextmanager
def fresh_machine(directory: Path) -> Iterator[Machine]:
    """Make a machine; its files are below `directory`."""
    with ExitStack() as stack:
        node, wire, victim, pod = (stack.enter_context(fresh_netns()) for _ in range(4))
        machine = Machine(node, wire, victim, pod, directory)
        _make_files(directory)
        for netns in (node, wire, victim, pod):
            call_in(netns, _no_surprises)
        _make_links(machine)
        yield machine


def inside(machine: Machine, work: Callable[[], T]) -> T:
    """Do something in a thread that is on the machine."""

    def enter_and_work() -> T:
        libc = ctypes.CDLL(None, use_errno=True)

        def see(outcome: int) -> None:
            if outcome != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

        def bind(source: str, target: str) -> None:
            see(libc.mount(source.encode(), target.encode(), None, MS_BIND | MS_REC, None))

        see(libc.unshare(CLONE_NEWNS))
        see(libc.mount(b"none", b"/", None, MS_REC | MS_SLAVE, None))
        bind("/run/netns", str(machine.root / "run/netns"))
        for covered, name in (("/etc", "etc"), ("/run", "run"), ("/var/lib", "var-lib")):
            bind(str(machine.root / name), covered)
        see(libc.setns(machine.node.fd, CLONE_NEWNET))
        return work()

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(enter_and_work).result()


def _no_surprises() -> None:
    """Have no addresses but those that are given: the kernel's own come and settle in time."""
    write_sysctl("net/ipv6/conf/default/addr_gen_mode", "1")
    write_sysctl("net/ipv6/conf/default/accept_dad", "0")
    write_sysctl("net/ipv6/conf/default/accept_ra", "0")


def _make_links(machine: Machine) -> None:
    wire, victim, pod = (name_of(each) for each in (machine.wire, machine.victim, machine.pod))
    on_wire = ("uplink", "addr1", "api1", "shared1", "admin1", "other1", OWN)
    node = [
        "link set lo up",
        *(f"link add {name} type veth peer name p-{name} netns {wire}" for name in on_wire),
        *(f"link add {name} type bridge" for name in ("br1", "cni0")),
        f"link add to-pod type veth peer name eth0 netns {pod}",
        "link set to-pod master cni0",
        *(f"link set {name} up" for name in (*on_wire, "br1", "cni0", "to-pod")),
        "link property add dev shared1 altname shared-too",
        "address add 192.0.2.10/24 dev uplink",
        "address add 2001:db8:1::10/64 dev uplink nodad",
        "neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev uplink nud permanent",
        "route add default via 192.0.2.1",
        "address add 198.51.100.10/24 dev addr1",
        "address add 10.99.0.1/24 dev api1",
        "route add 203.0.113.0/24 dev api1",
        "address add 10.66.0.1/24 dev br1",
        "address add 10.244.0.1/24 dev cni0",
        "route add 10.55.0.0/16 dev other1 table 77",
        "rule add from 10.55.0.0/16 table 77",
        *(
            f"link add link {name} name v-{name} netns {victim} type macvlan mode bridge"
            for name in STANDING
        ),
    ]
    _ip(machine.node, node)
    _ip(machine.wire, [f"link set p-{name} up" for name in on_wire])
    _ip(machine.wire, [f"address add {NEIGHBOUR_ADDRESS}/24 dev p-shared1"])
    _ip(machine.pod, ["link set lo up", "link set eth0 up", "address add 10.244.0.9/24 dev eth0"])
    _ip(
        machine.victim,
        [
            *(f"link set v-{name} up" for name in STANDING),
            f"address add {VICTIM_ADDRESS}/24 dev v-shared1",
            "route add default via 10.77.0.1",
        ],
    )


def _ip(netns: Netns, commands: list[str]) -> None:
    subprocess.run(
        ["ip", "-n", name_of(netns), "-batch", "-"],
        input="\n".join(commands).encode(),
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _make_files(root: Path) -> None:
    for directory in (
        "etc/cni/net.d", "etc/cni/tuning", "home", "run/cni", "run/netns", "sprung", "traps",
        "var-lib/cni/networks/a-network", "var-lib/netclaim",
    ):  # fmt: skip
        (root / directory).mkdir(parents=True)
    for name in (
        "etc/passwd", "etc/cni/net.d/10-primary.conflist", "home/file", "run/cni/state",
        "var-lib/cni/networks/a-network/10.10.1.2", "var-lib/netclaim/journal.db",
    ):  # fmt: skip
        (root / name).write_text(f"{CANARY} {name}\n")
    (root / "etc/resolv.conf").write_text(f"nameserver 203.0.113.53\nsearch {CANARY}.example\n")
    (root / "home/link").symlink_to(root / "etc/passwd")
    (root / "home/directory").symlink_to(root / "var-lib/cni")
    os.mkfifo(root / "home/fifo")
    for name in TRAPS:
        trap = root / "traps" / name
        trap.write_text(TRAP.format(trace=root / "sprung" / name))
        trap.chmod(0o755)
