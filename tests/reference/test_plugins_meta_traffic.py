"""Packets through a limited pair of links, in process and by the reference programs."""

import json
import socket
from pathlib import Path

import pytest

from netclaim.kernel import open_netns, socket_in
from tests.reference.site.cni_site import run
from tests.reference.site.plugin_cases import POOL
from tests.reference.site.plugin_site import Site, both

pytestmark = pytest.mark.reference

PAIR = {"type": "bridge", "bridge": "br0", "isGateway": True, "ipam": POOL}
RATE, BURST = 8_000_000, 800_000
LIMITS = {
    "type": "bandwidth",
    "ingressRate": RATE,
    "ingressBurst": BURST,
    "egressRate": RATE,
    "egressBurst": BURST,
}
COMMON = {"name": "net", "cniVersion": "1.1.0"}
AMPLE_S = 30.0


def talk(site: Site) -> list[str]:
    """Limit a pair, send a packet each way; returns the kinds of link whose limit saw any."""
    previous = json.loads(site.call("ADD", PAIR | COMMON))
    site.call("ADD", LIMITS | COMMON | {"prevResult": previous})
    with (
        open_netns(f"/run/netns/{site.pod}") as pod,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside,
        socket_in(pod, socket.AF_INET, socket.SOCK_DGRAM, 0) as inside,
    ):
        outside.bind(("10.9.0.1", 0))
        for end in (outside, inside):
            end.settimeout(AMPLE_S)
        inside.sendto(b"ping", outside.getsockname())
        said, sender = outside.recvfrom(16)
        outside.sendto(b"pong", sender)
        assert (said, inside.recv(16)) == (b"ping", b"pong")
    queues = json.loads(run("tc", "-n", site.host, "-statistics", "-json", "qdisc", "show"))
    seen = [queue["dev"] for queue in queues if queue["kind"] == "tbf" and queue["packets"]]
    return sorted(name[:3] for name in seen)


def test_packets_pass_both_limits(cni_plugins: Path, tmp_path: Path) -> None:
    """What a container sends passes the ifb's limit, what it receives that of the host's end."""
    reference, ours = both(cni_plugins, tmp_path, talk)
    assert reference == ours == ["bwp", "vet"]
