"""The first PoCs' manifests: written for an API that is gone, converted by `netclaim upgrade`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.drivers.driver import netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl, KubectlError
from tests.cluster.site.drivers import EXAMPLES, addresses, wait_claim

POC_DRIVER = "poc.dra.networking"


@pytest.fixture(scope="module")
def poc_driver(drivers: DriverSet) -> Iterator[None]:
    """The same driver under the PoC's name, beside whatever else runs."""
    drivers.up(netclaim_driver(POC_DRIVER))
    yield
    drivers.down(POC_DRIVER)


def upgraded(file: Path, version: str) -> str:
    """The manifest in another API version, as the command prints it."""
    done = subprocess.run(
        [sys.executable, "-m", "netclaim", "upgrade", "--file", str(file), "--to", version],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
@pytest.mark.parametrize("name", ["poc-demo-a", "poc-framework"])
def test_poc_pod_gets_its_interface(
    kubectl: Kubectl, poc_driver: None, name: str, version: str
) -> None:
    """With the config as an object or as a JSON string, in any served version: net1 is there."""
    file = EXAMPLES / "manifests" / f"{name}.yaml"
    with pytest.raises(KubectlError, match="no matches for kind"):
        kubectl("apply", f"--filename={file}")
    manifest = upgraded(file, version)
    kubectl("delete", "pod", "demo-a", "--ignore-not-found")  # the failed apply made the pod
    try:
        kubectl("apply", "--filename=-", stdin=manifest)
        kubectl.wait("pod/demo-a", "condition=Ready")
        claim = wait_claim(kubectl, "macvlan-eth0-attachment", "True")
        (device,) = claim["status"]["devices"]
        assert device["driver"] == POC_DRIVER
        assert device["networkData"]["ips"] == addresses(kubectl, "demo-a", "net1")
        assert device["networkData"]["ips"][0].startswith("10.10.1.")
    finally:
        kubectl("delete", "pod", "demo-a", "--grace-period=1", "--ignore-not-found")
        kubectl("delete", "deviceclass", "network-interface", "cni-v1", "--ignore-not-found")
