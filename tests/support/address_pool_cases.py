"""AddressPools and AddressLeases, right and wrong, for the rules here and for a real API server."""

from typing import Any, Final

RANGE: Final[dict[str, Any]] = {"cidr": "10.1.0.0/24"}
RIGHT: Final[list[dict[str, Any]]] = [
    {"ranges": [RANGE]},
    {"ranges": [{**RANGE, "start": "10.1.0.9", "end": "10.1.0.20", "gateway": "10.1.0.1"}]},
    {"ranges": [{**RANGE, "nodeSelector": {"matchLabels": {"rack": "r7"}}}]},
    {"ranges": [{**RANGE, "exclude": ["10.1.0.7", "10.1.0.128/25"]}, {"cidr": "fd00::/64"}]},
    {
        "ranges": [
            {**RANGE, "exclude": ["10.1.0.5/28"]},
            {"cidr": "fd00::/64", "exclude": ["fd00::5/120"]},
        ]
    },
    {
        "ranges": [RANGE],
        "routes": [{"dst": "10.0.0.0/8", "gw": "10.1.0.1"}],
        "domain": "lab",
        "perNamespace": 3,
        "enabled": False,
        "namespaces": {"matchLabels": {"team": "media"}},
    },
    {"ranges": [RANGE], "keep": {"kinds": ["StatefulSet"]}},
    {"ranges": [RANGE], "keep": {"kinds": ["StatefulSet"], "whenScaled": "Delete"}},
]
WRONG: Final[list[tuple[dict[str, Any], str]]] = [
    ({"ranges": []}, "spec.ranges"),
    ({"ranges": [{}]}, "spec.ranges[0].cidr"),
    ({"ranges": [{"cidr": "10.1.0.1/24"}]}, "spec.ranges[0].cidr"),
    ({"ranges": [{"cidr": "10.1.0.0"}]}, "spec.ranges[0].cidr"),
    ({"ranges": [RANGE, {**RANGE, "start": "10.2.0.1"}]}, "spec.ranges[1].start"),
    ({"ranges": [{**RANGE, "end": "fd00::1"}]}, "spec.ranges[0].end"),
    ({"ranges": [{**RANGE, "gateway": "10.1.0.0/25"}]}, "spec.ranges[0].gateway"),
    ({"ranges": [{**RANGE, "exclude": ["10.0.0.0/8"]}]}, "spec.ranges[0].exclude"),
    ({"ranges": [RANGE], "routes": [{"gw": "10.1.0.1"}]}, "spec.routes[0].dst"),
    (
        {
            "ranges": [
                {**RANGE, "nodeSelector": {"matchExpressions": [{"key": "r", "operator": "Near"}]}}
            ]
        },
        "spec.ranges[0].nodeSelector.matchExpressions[0].operator",
    ),
    ({"ranges": [RANGE], "perNamespace": 0}, "spec.perNamespace"),
    ({"ranges": [RANGE], "domain": ""}, "spec.domain"),
    ({"ranges": [RANGE], "domain": "a.b"}, "spec.domain"),
    ({"ranges": [RANGE], "domain": "x" * 64}, "spec.domain"),
    ({"ranges": [RANGE], "keep": {}}, "spec.keep.kinds"),
    ({"ranges": [RANGE], "keep": {"kinds": []}}, "spec.keep.kinds"),
    ({"ranges": [RANGE], "keep": {"kinds": ["Deployment"]}}, "spec.keep.kinds[0]"),
    (
        {"ranges": [RANGE], "keep": {"kinds": ["StatefulSet", "StatefulSet"]}},
        "spec.keep.kinds[1]",
    ),
    (
        {"ranges": [RANGE], "keep": {"kinds": ["StatefulSet"], "whenScaled": "Keep"}},
        "spec.keep.whenScaled",
    ),
]
OWNER: Final = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "namespace": "shop",
    "name": "db",
    "uid": "s1",
    "replica": "db-0",
    "interface": "net1",
}
HOLDER: Final = {"namespace": "shop", "name": "web", "uid": "u1"}
LEASES: Final[list[tuple[str, str, str, bool]]] = [  # name, domain, address, whether it is right
    ("10.1.0.7", "", "10.1.0.7", True),
    ("lab.10.1.0.7", "lab", "10.1.0.7", True),
    ("fd00-0000-0000-0000-0000-0000-0000-0007", "", "fd00::7", True),
    ("lab.fd00-0000-0000-0000-0000-0000-0000-0007", "lab", "fd00::7", True),
    ("10.1.0.8", "", "10.1.0.7", False),
    ("lab.10.1.0.7", "", "10.1.0.7", False),
    ("10.1.0.7", "lab", "10.1.0.7", False),
    ("other.10.1.0.7", "lab", "10.1.0.7", False),
    ("fd00--7", "", "fd00::7", False),
    ("fd00-0000-0000-0000-0000-0000-0000-0008", "", "fd00::7", False),
    ("x", "", "x", False),
]


def lease_of(name: str, domain: str, address: str) -> dict[str, Any]:
    """A lease as a driver writes it."""
    spec = {
        "pool": "media",
        "address": address,
        "driver": "cni.dra.networking.x-k8s.io",
        "nodeName": "n1",
        "claim": HOLDER,
    } | ({"domain": domain} if domain else {})
    return {
        "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
        "kind": "AddressLease",
        "metadata": {"name": name},
        "spec": spec,
    }
