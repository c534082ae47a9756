"""More devices than fit into one slice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.drivers.driver import program_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, device_class, pod
from tests.cluster.site.drivers import eventually
from tests.cluster.site.many_devices import COUNT, Many


@pytest.fixture
def many(drivers: DriverSet, admin: Kubectl) -> Iterator[str]:
    """The driver of many devices on every node."""
    drivers.up(program_driver(Many.name, Path(__file__).parents[1] / "site" / "many_devices.py"))
    admin.apply(device_class(Many.name, "many"))
    yield Many.name
    drivers.down(Many.name)
    admin("delete", "deviceclass", "many")


def test_several_slices_make_one_pool(kubectl: Kubectl, many: str) -> None:
    """300 devices are published in slices of at most 64, and the last one can be claimed."""
    selector = f"--field-selector=spec.driver={many},spec.nodeName=kind-worker"
    slices = eventually(
        lambda: kubectl.items("resourceslices", selector), lambda s: len(s) == 5, "five slices"
    )
    assert sorted(len(s["spec"]["devices"]) for s in slices) == [COUNT - 256, *[64] * 4]
    assert {s["spec"]["pool"]["resourceSliceCount"] for s in slices} == {5}
    assert len({s["spec"]["pool"]["generation"] for s in slices}) == 1
    expression = f'device.attributes["{many}"].index == {COUNT - 1}'
    exactly = {"deviceClassName": "many", "selectors": [{"cel": {"expression": expression}}]}
    kubectl.apply(
        claim("last", {}, [{"name": "one", "exactly": exactly}], driver=many), pod("last", "last")
    )
    kubectl.wait("pod/last", "condition=Ready")
    (result,) = kubectl.get("resourceclaim", "last")["status"]["allocation"]["devices"]["results"]
    assert result["device"] == f"d{COUNT - 1}"
    kubectl("delete", "pod", "last")
