"""What Multus reads, converted, checked and run: interfaces are as Multus would give them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pure.convert.converting import definition, pod

pytestmark = pytest.mark.embedded

RANGE = {"type": "host-local", "subnet": "10.71.0.0/24", "rangeStart": "10.71.0.100"}
QUICKSTART = {"cniVersion": "0.3.0", "type": "macvlan", "master": "eth1", "ipam": RANGE}
STATIC = {
    "cniVersion": "0.3.1",
    "plugins": [
        {
            "type": "macvlan",
            "capabilities": {"ips": True},
            "master": "eth1",
            "mode": "bridge",
            "ipam": {"type": "static"},
        },
        {"type": "tuning", "capabilities": {"mac": True}},
    ],
}
BRIDGE = {"cniVersion": "0.3.1", "type": "bridge", "bridge": "br71", "ipam": {"type": "static"}}
ADDRESSED = {"type": "static", "addresses": [{"address": "10.73.0.7/24"}]}
CHAIN = {
    "cniVersion": "1.0.0",
    "plugins": [
        {"type": "macvlan", "master": "eth1", "ipam": ADDRESSED},
        {"type": "tuning", "sysctl": {"net.ipv4.conf.IFNAME.arp_filter": "1"}},
    ],
}
SHARED = {"type": "whereabouts", "range": "10.75.0.0/24", "exclude": ["10.75.0.0/25"]}
WHEREABOUTS = {"cniVersion": "0.3.1", "type": "macvlan", "master": "eth1", "ipam": SHARED}
MAC = "02:00:00:00:71:07"

MANIFESTS = (
    definition("macvlan-conf", QUICKSTART),
    definition("static", STATIC, "infra"),
    definition("bridge", BRIDGE),
    definition("chain", CHAIN),
    definition("shared", WHEREABOUTS),
    definition("shared", WHEREABOUTS | {"capabilities": {"ips": True}}, "infra"),
    pod("short", "macvlan-conf"),
    pod("named", "macvlan-conf@video0"),
    pod("twice", "macvlan-conf,macvlan-conf"),
    pod("chosen", [{"name": "static", "namespace": "infra", "ips": ["10.72.0.7/24"], "mac": MAC}]),
    pod("bridged", [{"name": "bridge", "interface": "lan", "ips": ["10.74.0.9/24"]}]),
    pod("chained", "chain"),
    pod("pooled", "shared,infra/shared"),
    pod("picked", [{"name": "shared", "namespace": "infra", "ips": ["10.75.0.200"]}]),
)
# Each pod's interfaces, and the beginnings of their addresses.
INTERFACES = {
    "short": {"net1": "10.71.0.1"},
    "named": {"video0": "10.71.0.1"},
    "twice": {"net1": "10.71.0.1", "net2": "10.71.0.1"},
    "chosen": {"net1": "10.72.0.7/24"},
    "bridged": {"lan": "10.74.0.9/24"},
    "chained": {"net1": "10.73.0.7/24"},
    "pooled": {"net1": "10.75.0.", "net2": "10.75.0."},
    "picked": {"net1": "10.75.0.200/24"},
}


def netclaim(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = [sys.executable, "-m", "netclaim", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_from_multus_to_interfaces(tmp_path: Path) -> None:
    """Converted manifests pass the check and run; names, addresses and MACs are as chosen."""
    source, result = tmp_path / "multus.yaml", tmp_path / "out"
    source.write_text("".join(MANIFESTS))
    done = netclaim("convert", "-f", source, "-o", result)
    assert done.returncode == 0, done.stderr
    done = netclaim("check", "-f", result)
    assert done.returncode == 0, done.stdout
    check_interfaces(result)


def test_multus_manifests_run_as_they_are(tmp_path: Path) -> None:
    """Without being converted first, they give the same."""
    source = tmp_path / "multus.yaml"
    source.write_text("".join(MANIFESTS))
    check_interfaces(source)


def check_interfaces(source: Path) -> None:
    """Try manifests, and compare what pods have."""
    done = netclaim("try", "-f", source, "-o", "json", "--timeout", "300")
    pods: dict[str, Any] = {one["name"]: one for one in json.loads(done.stdout)["pods"]}
    assert {name: one["reason"] for name, one in pods.items() if not one["ready"]} == {}
    assert pods.keys() == INTERFACES.keys()
    for name, expected in INTERFACES.items():
        found = {one["name"]: one for one in pods[name]["interfaces"]}
        assert found.keys() == expected.keys()
        for ifname, beginning in expected.items():
            assert found[ifname]["ips"][0].startswith(beginning)
    assert pods["chosen"]["interfaces"][0]["mac"] == MAC
    shared = [
        ip for name in ("pooled", "picked") for one in pods[name]["interfaces"] for ip in one["ips"]
    ]
    assert len(set(shared)) == 3
