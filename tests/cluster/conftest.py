"""Kubectl on the lab: for looking only, or in a namespace of the test's own."""

import secrets
from collections.abc import Iterator

import pytest

from lab.cluster import Lab
from lab.driver_set import DriverSet
from lab.drivers import DEFAULT_DRIVER, netclaim_driver
from lab.kubectl import Kubectl
from tests.cluster.claims import device_class


@pytest.fixture
def admin(lab: Lab) -> Kubectl:
    """Kubectl in the default namespace."""
    return lab.kubectl()


@pytest.fixture
def kubectl(lab: Lab, admin: Kubectl) -> Iterator[Kubectl]:
    """Kubectl in a fresh namespace, which is gone with all its pods when the test ends."""
    namespace = f"t-{secrets.token_hex(3)}"
    admin("create", "namespace", namespace)
    scoped = lab.kubectl(namespace)
    scoped("wait", "serviceaccount/default", "--for=create", "--timeout=180s")
    try:
        yield scoped
    finally:
        admin("delete", "namespace", namespace, "--wait=true", "--timeout=180s")


@pytest.fixture(scope="session")
def drivers(lab: Lab) -> DriverSet:
    """The drivers of the lab."""
    return DriverSet(lab)


@pytest.fixture(scope="session")
def driver(lab: Lab, drivers: DriverSet) -> Iterator[str]:
    """The network driver under its usual name on every node, with a class for its devices."""
    drivers.up(netclaim_driver(DEFAULT_DRIVER))
    lab.kubectl().apply(device_class())
    yield DEFAULT_DRIVER
    drivers.down(DEFAULT_DRIVER)
