"""Addresses of several pods are found whatever else claims say."""

from typing import Any

from netclaim.model.api.claim import ResourceClaim
from netclaim.survey.duplicates import duplicate_addresses

DEEP = "[" * 5000 + "]" * 5000


def claim(name: str, config: Any) -> ResourceClaim:
    """A claim whose pod has an address on eth1 of a node."""
    device = {"driver": "d", "pool": "n", "device": "eth1"}
    entry = {"opaque": {"driver": "d", "parameters": {"config": config}}}
    allocated = {"results": [{**device, "request": "r"}], "config": [entry]}
    reported = {**device, "networkData": {"ips": ["192.0.2.1/24"]}}
    return ResourceClaim.read(
        {
            "metadata": {"name": name, "namespace": "n"},
            "status": {"allocation": {"devices": allocated}, "devices": [reported]},
        }
    )


def test_a_network_that_cannot_be_read_hides_no_other() -> None:
    """A claim's author may write what no decoder follows; two others still share an address."""
    plain = {"type": "macvlan", "name": "lan"}
    found = duplicate_addresses([claim("odd", DEEP), claim("a", plain), claim("b", plain)])
    assert {"a", "b"} <= {user.claim for one in found for user in one.users}
