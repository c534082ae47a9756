"""Reading networks costs what there is of them, not how many pods have them."""

import json
from collections.abc import Callable
from functools import partial

import pytest

from netclaim.controller.annotated.names import ANNOTATION
from netclaim.controller.annotated.readings import OVERHEAD, Readings, ReadNetwork, read_network
from netclaim.controller.annotated.wanted import Known, claim_of
from netclaim.convert.multus.definition import NetworkKey
from netclaim.errors import RequestError
from netclaim.model.claims.claim import JsonObject
from tests.support.growth import assert_flat

DRIVER = "cni.dra.networking.x-k8s.io"


class Counted:
    """Reads networks, and counts."""

    def __init__(self) -> None:
        self.keys: list[NetworkKey] = []

    def __call__(self, key: NetworkKey, found: JsonObject, driver: str) -> ReadNetwork:
        """Read one."""
        self.keys.append(key)
        return read_network(key, found, driver)


def definition(
    name: str, version: str = "1", *, routes: int = 1, type_: str = "macvlan"
) -> JsonObject:
    """A network with so many routes."""
    ipam = {
        "type": "host-local",
        "subnet": "10.1.0.0/24",
        "routes": [{"dst": f"10.{2 + index // 250}.{index % 250}.0/24"} for index in range(routes)],
    }
    meta = {"namespace": "team", "name": name, "uid": f"uid-{name}", "resourceVersion": version}
    config = {"type": type_, "master": "eth1", "ipam": ipam}
    return {"metadata": meta, "spec": {"config": json.dumps(config)}}


def pod(index: int, *names: str) -> JsonObject:
    """A pod with these networks."""
    meta = {"name": f"app-{index}", "namespace": "team", "uid": f"{index:08}-0000"}
    head = {"apiVersion": "v1", "kind": "Pod"}
    return {**head, "metadata": {**meta, "annotations": {ANNOTATION: ",".join(names)}}}


def test_hundreds_of_pods_have_each_network_read_once() -> None:
    """Also one that is refused, which is said to each of them in the same words."""
    counted = Counted()
    names = [f"net-{index}" for index in range(31)]
    found = {("team", name): definition(name) for name in names}
    found["team", "bad"] = definition("bad", type_="sriov")
    known = Known(found, {}, frozenset(), DRIVER, readings=Readings(read=counted))
    for index in range(100):
        assert len(claim_of(pod(index, *names), known)["spec"]["devices"]["requests"]) == 31
    said = set()
    for index in range(100):
        with pytest.raises(RequestError) as caught:
            claim_of(pod(index, "bad"), known)
        said.add(str(caught.value))
    assert len(said) == 1
    assert len(counted.keys) == 32


def test_a_network_that_changed_is_read_again() -> None:
    """One without a version is read each time."""
    counted = Counted()
    readings = Readings(read=counted)
    key = ("team", "net")
    for version in ("1", "1", "2", "2", "", ""):
        readings.of(key, definition("net", version), DRIVER)
    assert len(counted.keys) == 4


def test_only_so_much_is_kept() -> None:
    """What was not used for the longest time goes first."""
    counted = Counted()
    length = len(definition("net-0")["spec"]["config"]) + OVERHEAD
    readings = Readings(2 * length, counted)
    for index in (0, 1, 0, 2, 0, 1):
        readings.of(("team", f"net-{index}"), definition(f"net-{index}"), DRIVER)
    assert [name for _, name in counted.keys] == ["net-0", "net-1", "net-2", "net-1"]


def test_a_pod_costs_the_same_however_long_its_networks_are() -> None:
    """Once one pod has had them read."""

    def work_of(routes: int) -> Callable[[], object]:
        known = Known({("team", "net"): definition("net", routes=routes)}, {}, frozenset(), DRIVER)
        claim_of(pod(0, "net"), known)
        return partial(claim_of, pod(1, "net"), known)

    assert_flat(work_of, 16)
