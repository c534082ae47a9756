"""The driver on the oldest Kubernetes that it serves: its kubelet, its API, its scheduler."""

import json
import secrets
from collections.abc import Iterator

import pytest

from lab.cluster import Lab
from lab.driver_set import DriverSet
from lab.drivers import DEFAULT_DRIVER, netclaim_driver
from lab.progress import Progress
from lab.topology import DEFAULT_TOPOLOGY
from tests.cluster.demo import applied_demo, check_demo

OLDEST = "1.32"


@pytest.fixture(scope="module")
def older() -> Iterator[Lab]:
    """A lab of its own with that release and the driver; gone afterwards."""
    lab = Lab(f"older-{secrets.token_hex(3)}", Progress())
    lab.up(DEFAULT_TOPOLOGY, port=0, kubernetes=OLDEST)
    try:
        DriverSet(lab).up(netclaim_driver(DEFAULT_DRIVER))
        yield lab
    finally:
        lab.down()


def test_the_demo_runs_on_the_oldest_release(older: Lab) -> None:
    """The talk's demo is the same where only v1beta1 of the API and of kubelet's plugins exists."""
    admin = older.kubectl()
    assert json.loads(admin("get", "--raw=/version"))["minor"] == OLDEST.partition(".")[2]
    served = json.loads(admin("get", "--raw=/apis/resource.k8s.io"))["versions"]
    assert [each["version"] for each in served] == ["v1beta1"]
    with applied_demo(admin):
        check_demo(older, admin, DEFAULT_DRIVER)


def test_a_killed_driver_comes_back_on_the_oldest_release(older: Lab) -> None:
    """That kubelet takes a driver again whose socket it found dead."""
    component = f"kind-worker/driver-{DEFAULT_DRIVER}"
    older.kill(component)
    older.restart(component)
    DriverSet(older).wait_ready(DEFAULT_DRIVER, "kind-worker")
    admin = older.kubectl()
    with applied_demo(admin):
        check_demo(older, admin, DEFAULT_DRIVER)
