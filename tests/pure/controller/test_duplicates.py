"""The controller knows how many addresses several pods have."""

from typing import Any

from netclaim.controller.cluster.slim import slim_claim
from netclaim.controller.duplicates import DuplicateAddresses
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.network.pod_network import class_of
from tests.support.controller_parts import DRIVER

MACVLAN = {"type": "macvlan", "parent": {"name": "eth1"}}
BRIDGE = {"type": "bridge", "bridge": "br0"}


class Stores:
    """What the watches have listed."""

    def __init__(self, *claims: Any) -> None:
        self.kinds: dict[str, dict[Any, Any]] = {
            "ResourceClaim": {each["metadata"]["name"]: each for each in claims},
            "DeviceClass": {},
        }

    def store(self, kind: str) -> Any:
        """The objects of a kind."""
        return self.kinds[kind]


def network(name: str, spec: Any) -> Any:
    """The class of a network."""
    return class_of(PodNetwork.read({"metadata": {"name": name}, "spec": spec}), DRIVER)


def claim(name: str, node: str, ip: str, config: Any = None) -> Any:
    """What is kept of a claim with an address on a network's own device, or by its class."""
    device = {"driver": DRIVER, "pool": node, "device": "media-net-on-eth1"}
    entries = [{"opaque": {"driver": DRIVER, "parameters": {"config": config}}}] if config else []
    network = {"podNetwork": {"kind": "PodNetwork", "name": "media-net"}}
    reported = {**device, "networkData": {"ips": [ip]}, "data": {**network, "bandwidth": "1G"}}
    allocation = {"results": [{**device, "request": "r"}], "config": entries}
    return slim_claim(
        {
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"devices": {"requests": []}},
            "status": {"allocation": {"devices": allocation}, "devices": [reported]},
        }
    )


def counting(stores: Stores, spec: Any) -> DuplicateAddresses:
    """The part, once it has looked at everything."""
    stores.kinds["DeviceClass"]["media-net"] = network("media-net", spec)
    made = DuplicateAddresses(stores)
    made.begin()
    return made


def test_what_is_there_and_what_changes() -> None:
    """A claim that comes, gets another address or goes changes the number."""
    first = claim("a", "one", "10.0.0.2/24")
    known = counting(Stores(first), MACVLAN)
    assert known.count == 0
    second = claim("b", "two", "10.0.0.2/24")
    known.changed("ResourceClaim", None, second)
    assert known.count == 1
    (found,) = known.found()
    assert [user.claim for user in found.users] == ["a", "b"]
    moved = claim("b", "two", "10.0.0.3/24")
    known.changed("ResourceClaim", second, moved)
    assert known.count == 0
    known.changed("ResourceClaim", moved, second)
    known.changed("ResourceClaim", first, None)
    assert known.count == 0


def test_a_network_that_becomes_another() -> None:
    """Its claims are judged anew: on a bridge, each node may give the same addresses."""
    claims = [claim(name, name, "10.0.0.2/24") for name in ("a", "b")]
    known = counting(Stores(*claims), BRIDGE)
    assert known.count == 0
    known.changed("DeviceClass", network("media-net", BRIDGE), network("media-net", MACVLAN))
    assert known.count == 1
    known.changed("DeviceClass", network("media-net", MACVLAN), None)
    assert known.count == 0


def test_what_cannot_be_read_ends_nothing() -> None:
    """A claim, or a class, of a form that is not the API's counts as not there."""
    odd = claim("odd", "one", "10.0.0.2/24")
    odd["status"]["devices"][0]["networkData"] = {"ips": 7}
    stores = Stores(odd, claim("a", "one", "10.0.0.2/24"))
    known = counting(stores, MACVLAN)
    known.changed("ResourceClaim", None, claim("b", "two", "10.0.0.2/24"))
    assert known.count == 1
    bad = claim("b", "two", "10.0.0.2/24")
    bad["status"]["devices"][0]["networkData"] = {"ips": 7}
    known.changed("ResourceClaim", None, bad)
    assert known.count == 0
    broken = {"metadata": {"name": "media-net"}, "spec": {"config": 7}}
    known.changed("DeviceClass", None, broken)
    assert known.count == 0


def test_claims_by_class_say_what_their_network_is() -> None:
    """Of their configuration that much is kept, once for all that say the same."""
    config = {"name": "media-net", "plugins": [{"type": "macvlan", "ipam": {"type": "x" * 4000}}]}
    claims = [claim(name, name, "10.0.0.2/24", config) for name in ("a", "b")]
    kept = [each["status"]["allocation"]["devices"]["config"][0] for each in claims]
    assert kept[0] is kept[1]
    assert len(str(kept[0])) < 300
    assert counting(Stores(*claims), BRIDGE).count == 1
