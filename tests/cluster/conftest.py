"""The lab and its drivers, a second lab of the oldest release, and kubectl.

NETCLAIM_LAB_KUBERNETES is the release of the first one, as `make test-versions` sets it.
"""

import secrets
from collections.abc import Iterator

import pytest

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from lab.parts.pins import load_pins
from lab.progress import Progress
from lab.topology import DEFAULT_TOPOLOGY
from tests.cluster.site.claims import device_class
from tests.cluster.site.namespaces import own_namespace

OLDEST = load_pins().kubernetes[-1]
RELEASES = ("newest", pytest.param("oldest", marks=pytest.mark.older))


@pytest.fixture
def admin(lab: Lab) -> Kubectl:
    """Kubectl in the default namespace."""
    return lab.kubectl()


@pytest.fixture
def kubectl(lab: Lab) -> Iterator[Kubectl]:
    """Kubectl in a fresh namespace, whose pods and claims are gone when the test ends."""
    with own_namespace(lab) as scoped:
        yield scoped


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


@pytest.fixture(scope="session")
def older() -> Iterator[Lab]:
    """A second lab, with the oldest release and the driver; mark what uses it `older`."""
    lab = Lab(f"older-{secrets.token_hex(3)}", Progress())
    lab.up(DEFAULT_TOPOLOGY, port=0, kubernetes=OLDEST)
    try:
        DriverSet(lab).up(netclaim_driver(DEFAULT_DRIVER))
        lab.kubectl().apply(device_class())
        yield lab
    finally:
        lab.down()


@pytest.fixture(params=RELEASES)
def served(request: pytest.FixtureRequest) -> Lab:
    """A lab with the driver and a class for its devices, of the newest and the oldest release."""
    if request.param == "newest":
        request.getfixturevalue("driver")
    lab: Lab = request.getfixturevalue("lab" if request.param == "newest" else "older")
    return lab
