"""PodNetworks that are right or wrong, judged by our rules and by a real API server."""

from typing import Any

GOOD: dict[str, Any] = {"type": "macvlan", "parent": {"name": "eth1"}}

RIGHT: tuple[dict[str, Any], ...] = (
    GOOD,
    {"provider": "myprovider.io/application"},
    {"type": "bridge", "bridge": "br0", "vlan": 7},
    {"type": "cni", "config": {"type": "ptp"}},
    {"type": "vlan", "vlan": 7, "parent": {"selector": "device.driver == 'x'"}},
    {**GOOD, "settings": {"rules": [{"source": "::/0", "table": 5}]}, "allow": ["rules", "vrf"]},
    {**GOOD, "ipam": {"type": "static"}, "routes": [{"dst": "::/0"}], "mode": "passthru"},
)

# What is wrong, and the field at which it is found.
WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "spec.type"),
    ({"provider": "cni.dra.networking.x-k8s.io"}, "spec.type"),
    ({"type": "macvlan"}, "spec.parent"),
    ({**GOOD, "parent": {}}, "spec.parent"),
    ({**GOOD, "parent": {"name": "eth1", "selector": "true"}}, "spec.parent"),
    ({"type": "bridge", "parent": {"name": "eth1"}}, "spec.parent"),
    ({"type": "vlan", "parent": {"name": "eth1"}}, "spec.vlan"),
    ({**GOOD, "vlan": 5}, "spec.vlan"),
    ({"type": "bridge", "vlan": 4095}, "spec.vlan"),
    ({**GOOD, "mode": "l2"}, "spec.mode"),
    ({**GOOD, "bridge": "br0"}, "spec.bridge"),
    ({**GOOD, "config": {}}, "spec.config"),
    ({"type": "cni"}, "spec.config"),
    ({"type": "cni", "config": {"type": "ptp"}, "mtu": 1400}, "spec.config"),
    ({**GOOD, "routes": [{"dst": "10.0.0.0/8"}]}, "spec.routes"),
    ({**GOOD, "allow": ["config"]}, "spec.allow[0]"),
    ({**GOOD, "ipam": {}}, "spec.ipam.type"),
    ({**GOOD, "settings": []}, "spec.settings"),
    ({**GOOD, "mtu": 12}, "spec.mtu"),
    ({**GOOD, "type": "macvlam"}, "spec.type"),
)
