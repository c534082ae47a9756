"""AddressPools in a status: as the controller reports them, with who has their addresses."""

from io import StringIO
from typing import Any

import pytest

from netclaim.errors import RequestError
from netclaim.model import device_json
from netclaim.network.devices.pool_device import pool_device
from netclaim.screen import PlainScreen
from netclaim.status.compose import compose
from netclaim.status.scope import narrow, scope_of
from netclaim.status.showing.show import Look, show
from netclaim.status.values import Status
from tests.support.address_pool_cases import OWNER

API = "cni.networking.x-k8s.io/v1alpha1"
DRIVER = "cni.dra.networking.x-k8s.io"


def pool(name: str, ready: str = "True", reason: str = "Usable", **counts: int) -> dict[str, Any]:
    """A pool with this condition, and these counts in its status."""
    condition = {"type": "Ready", "status": ready, "reason": reason, "message": f"{reason}: why"}
    return {
        "apiVersion": API,
        "kind": "AddressPool",
        "metadata": {"name": name, "generation": 1},
        "spec": {"ranges": [{"cidr": "10.1.0.0/24"}, {"cidr": "fd00:1::/120"}]},
        "status": {"observedGeneration": 1, "conditions": [condition] if ready else [], **counts},
    }


def lease(address: str, claim: str, namespace: str = "default") -> dict[str, Any]:
    """An address of the pool media that a claim has."""
    holder = {"namespace": namespace, "name": claim, "uid": claim, "request": "net"}
    return {
        "apiVersion": API,
        "kind": "AddressLease",
        "metadata": {"name": f"media.{address}"},
        "spec": {
            "pool": "media",
            "address": address,
            "driver": DRIVER,
            "nodeName": "node-a",
            "claim": holder,
        },
    }


def claim(name: str, namespace: str = "default") -> dict[str, Any]:
    """A claim that a pod of the same name has."""
    result = {"request": "net", "driver": DRIVER, "pool": "node-a", "device": "eth1"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {"devices": {"requests": [{"name": "net", "exactly": {"deviceClassName": "c"}}]}},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": f"pod-{name}", "uid": name}],
        },
    }


MEDIA = pool("media", size=254, used=3, free=251)
HELD = [
    claim("a"),
    claim("b", "shop"),
    claim("none"),
    lease("10.1.0.20", "a"),
    lease("10.1.0.3", "b", "shop"),
    lease("10.1.0.100", "c", "shop"),
]


def composed(*found: dict[str, Any]) -> Status:
    """The status of these objects."""
    return compose(found, frozenset({DRIVER}))


def shown(status: Status, *arguments: str) -> list[str]:
    """The lines that `netclaim status` prints."""
    stream, scope = StringIO(), scope_of(arguments)
    show(narrow(status, scope), scope, PlainScreen(stream), Look())
    return [" ".join(line.split()) for line in stream.getvalue().splitlines()]


def test_a_pool_says_how_full_it_is_and_who_has_its_addresses() -> None:
    """By namespace, in a row; the overview has it too."""
    for arguments in (["pools"], []):
        lines = shown(composed(MEDIA, *HELD), *arguments)
        assert "POOL STATE SIZE USED FREE RANGES USED BY" in lines
        assert "media Usable 254 3 251 10.1.0.0/24, fd00:1::/120 shop (2), default (1)" in lines


def test_without_leases_a_pool_has_its_counts() -> None:
    """Not everybody may list leases, and the overview does not ask for them."""
    lines = shown(composed(MEDIA), "pools")
    assert lines == [
        "POOL STATE SIZE USED FREE RANGES",
        "media Usable 254 3 251 10.1.0.0/24, fd00:1::/120",
    ]


@pytest.mark.parametrize("word", ["pool/media", "addresspool/media", "addresspools/media"])
def test_around_a_pool_are_its_addresses(word: str) -> None:
    """In the order of addresses, with the pods; a claim that is not shown has its name."""
    lines = shown(composed(MEDIA, pool("other"), *HELD), word)
    assert lines[3:] == [
        "POOL ADDRESS NAMESPACE CLAIM POD NODE",
        "media 10.1.0.3 shop b pod-b node-a",
        "media 10.1.0.20 default a pod-a node-a",
        "media 10.1.0.100 shop c - node-a",
    ]
    around = narrow(composed(MEDIA, pool("other"), *HELD), scope_of([word]))
    assert [one.name for one in around.pools] == ["media"]
    assert sorted(one.name for one in around.claims) == ["a", "b"]


def test_what_is_kept_is_nobodys_now() -> None:
    """The pod that it is kept for is named, and the claim that had it last is not."""
    kept = lease("10.1.0.4", "gone")
    kept["spec"] |= {"owner": OWNER, "kept": True}
    full = pool("media", size=254, used=4, kept=1, free=250)
    lines = shown(composed(full, *HELD, kept), "pool/media")
    assert lines[0] == "POOL STATE SIZE USED KEPT FREE RANGES USED BY"
    assert "POOL ADDRESS NAMESPACE CLAIM POD NODE KEPT FOR" in lines
    assert "media 10.1.0.4 shop - - - db-0" in lines
    assert "media 10.1.0.3 shop b pod-b node-a -" in lines


def test_an_unknown_pool_is_refused_with_what_there_is() -> None:
    """As every other name."""
    with pytest.raises(RequestError, match='no pool "medai"; did you mean "media"'):
        narrow(composed(MEDIA), scope_of(["pool/medai"]))


def test_what_gives_nobody_an_address_is_a_problem() -> None:
    """Unless an admin wants it so."""
    status = composed(
        MEDIA,
        pool("full", size=2, used=2),
        pool("nearly", size=254, used=240, free=14),
        pool("wrong", "False", "Overlaps"),
        pool("unseen", ""),
        pool("off", reason="Disabled", size=2, used=2),
    )
    assert [str(one) for one in status.problems] == [
        "error: address pool wrong: Overlaps: why",
        "warning: address pool full: full: all 2 addresses are used",
        "warning: address pool nearly: nearly full: 14 of 254 addresses are free",
        "warning: address pool unseen: the controller has not looked at it as it is now",
    ]
    assert "error: address pool wrong: Overlaps: why" in shown(status, "pools")
    assert "warning: address pool full: full: all 2 addresses are used" in shown(
        status, "pool/full"
    )


def test_a_share_of_a_pool_is_no_link() -> None:
    """Neither its claim waits for it, nor is it among the devices, nor its taint a problem."""
    counted = claim("a")
    share = {"request": "address", "driver": DRIVER, "pool": "addresses/media", "device": "media"}
    results = counted["status"]["allocation"]["devices"]["results"]
    results.append({**share, "shareID": "1", "consumedCapacity": {"addresses": "1"}})
    link = {key: results[0][key] for key in ("driver", "pool", "device")}
    counted["status"]["devices"] = [{**link, "conditions": [{"type": "Ready", "status": "True"}]}]
    pools = {"name": "addresses/media", "generation": 1, "resourceSliceCount": 1}
    device = device_json(pool_device("media", 254))
    offered = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "addresses"},
        "spec": {"driver": DRIVER, "allNodes": True, "pool": pools, "devices": [device]},
    }
    status = composed(MEDIA, counted, offered)
    assert [one.state for one in status.claims] == ["Ready"]
    assert [one.device for one in status.claims[0].devices] == ["eth1"]
    assert status.devices == ()
    assert status.problems == ()
