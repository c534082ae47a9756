"""The example drivers: a page of Python each, and pods that see their devices."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.cluster import Lab
from lab.driver_set import DriverSet
from lab.drivers import program_driver
from lab.kubectl import Kubectl
from tests.cluster.drivers import EXAMPLES, eventually
from tests.cluster.namespaces import clear

Environments = dict[tuple[str, str], dict[str, str]]  # by pod and container


@contextmanager
def example(lab: Lab, drivers: DriverSet, name: str, driver: str) -> Iterator[Kubectl]:
    """An example's driver on every node and its manifests applied; all gone at the end."""
    drivers.up(program_driver(driver, EXAMPLES / f"{name}.py"))
    manifest = f"--filename={EXAMPLES / f'{name}.yaml'}"
    scoped = lab.kubectl(name)
    lab.kubectl()("create", "namespace", name)  # pods need the account that a controller adds
    scoped("wait", "serviceaccount/default", "--for=create", "--timeout=180s")
    lab.kubectl()("apply", manifest)
    try:
        yield scoped
    finally:
        clear(scoped)
        lab.kubectl()("delete", manifest, "--ignore-not-found", "--wait=false")
        drivers.down(driver)


def environments(kubectl: Kubectl) -> Environments:
    """What every container printed of its environment when it started."""
    found = {}
    for pod in kubectl.items("pods"):
        name = pod["metadata"]["name"]
        kubectl.wait(f"pod/{name}", "condition=Ready")
        for container in pod["spec"]["containers"]:
            where = (name, container["name"])
            found[where] = printed(kubectl, *where)
    return found


def printed(kubectl: Kubectl, pod: str, container: str) -> dict[str, str]:
    """The NAME=VALUE lines of a container's log, once there are some."""
    text = eventually(
        lambda: kubectl("logs", pod, f"--container={container}"), bool, f"output of {pod}"
    )
    return dict(line.split("=", 1) for line in text.splitlines())


@pytest.mark.timeout(600)
def test_toaster(lab: Lab, drivers: DriverSet) -> None:
    """The blog's slots: a bun, a hot dog with a bun of the same toaster, a bagel for two."""
    with example(lab, drivers, "toaster", "toaster.burntek.io") as kubectl:
        seen = environments(kubectl)
    bun = seen["bun", "toast"]
    assert bun["TOASTER_0_SLOT"].partition("-bun-")[1]
    assert bun["TOASTER_0_DARKNESS"] == "4"
    hotdog = seen["hotdog", "toast"]
    slots = sorted(value for key, value in hotdog.items() if key.endswith("_SLOT"))
    assert [slot.split("-")[2] for slot in slots] == ["bun", "hotdog"]
    assert len({slot.split("-")[1] for slot in slots}) == 1
    darkness = {value for key, value in hotdog.items() if key.endswith("_DARKNESS")}
    assert darkness == {"2", "3"}
    halves = [seen["bagel", "upper-half"], seen["bagel", "lower-half"]]
    assert halves[0] == halves[1]
    assert halves[0]["TOASTER_0_SLOT"].startswith("toaster-1-bun-")


def gpus(environment: dict[str, str]) -> set[str]:
    """The GPUs that a container sees."""
    return {value for key, value in environment.items() if key == f"GPU_DEVICE_{value[4:]}"}


@pytest.mark.timeout(600)
def test_gpu(lab: Lab, drivers: DriverSet) -> None:
    """Single, two containers, two pods with one claim, several requests, CEL and opaque config."""
    with example(lab, drivers, "gpu", "gpu.example.com") as kubectl:
        seen = environments(kubectl)
    assert all(len(gpus(environment)) == 1 for environment in seen.values())
    assert seen["two-containers", "first"] == seen["two-containers", "second"]
    assert seen["shared-a", "main"] == seen["shared-b", "main"]
    assert gpus(seen["pair", "left"]) != gpus(seen["pair", "right"])
    (number,) = (name[4:] for name in gpus(seen["configured", "main"]))
    configured = seen["configured", "main"]
    assert configured[f"GPU_DEVICE_{number}_SHARING_STRATEGY"] == "TimeSlicing"
    assert configured[f"GPU_DEVICE_{number}_TIMESLICE_INTERVAL"] == "Long"
    single = seen["single", "main"]
    assert "Default" in single.values()
