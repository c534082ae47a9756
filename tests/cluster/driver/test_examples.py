"""The example drivers: a page of Python each, and pods that see their devices."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from lab.cluster import Lab
from lab.drivers.driver import program_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from netclaim.model import JsonObject
from tests.cluster.site.drivers import EXAMPLES, eventually
from tests.cluster.site.namespaces import clear

Environments = dict[tuple[str, str], dict[str, str]]  # by pod and container


@contextmanager
def example(
    lab: Lab, drivers: DriverSet, name: str, driver: str, *options: str, program: str = ""
) -> Iterator[Kubectl]:
    """An example's driver on every node and its manifests applied; all gone at the end."""
    drivers.up(program_driver(driver, EXAMPLES / f"{program or name}.py", *options))
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


def environments(kubectl: Kubectl, pods: Sequence[JsonObject] = ()) -> Environments:
    """What every container printed of its environment when it started; of all pods, or of some."""
    found = {}
    for pod in pods or kubectl.items("pods"):
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


DEMOS = ("--shared=gpu-4", "--partitioned=gpu-5", "--unhealthy=gpu-6", "--checked=gpu-7")
WAITING = {"too-much", "wary"}


def unschedulable(kubectl: Kubectl, pod: str) -> str:
    """Why the scheduler does not place a pod, once it says so."""
    conditions = eventually(
        lambda: kubectl.get("pod", pod)["status"].get("conditions", []),
        lambda found: any(each.get("reason") == "Unschedulable" for each in found),
        f"a verdict on {pod}",
    )
    return str(next(each["message"] for each in conditions if each["type"] == "PodScheduled"))


@pytest.mark.timeout(600)
def test_what_gpus_can_do(lab: Lab, drivers: DriverSet) -> None:
    """Shares, partitions, alternatives, taints, conditions, extended resources, admin access."""
    rule = f"--filename={EXAMPLES / 'gpu-taint-rule.yaml'}"
    right = f"--filename={EXAMPLES / 'health/preflight-rbac.yaml'}"  # to look before pods are bound
    lab.kubectl()("apply", right)
    with example(lab, drivers, "gpu-demos", "gpu.example.com", *DEMOS, program="gpu") as kubectl:
        running = [p for p in kubectl.items("pods") if p["metadata"]["name"] not in WAITING]
        seen = environments(kubectl, running)
        (checked,) = (
            c for c in kubectl.items("resourceclaims") if "checked" in c["metadata"]["name"]
        )
        for pod in WAITING:
            assert "cannot allocate all claims" in unschedulable(kubectl, pod)
        lab.kubectl()("apply", rule)
        try:
            kubectl.wait("pod/preferring", "delete")
            assert "deletionTimestamp" not in kubectl.get("pod", "tolerant")["metadata"]
        finally:
            lab.kubectl()("delete", rule, right)
    first, second, third = (seen["sharers", name] for name in ("first", "second", "third"))
    assert {gpu for each in (first, second, third) for gpu in gpus(each)} == {"gpu-4"}
    amounts = [
        (each["GPU_DEVICE_4_MEMORY"], each["GPU_DEVICE_4_COMPUTE"]) for each in (first, third)
    ]
    assert amounts == [("16Gi", "20"), ("10Gi", "12")]
    assert first["GPU_DEVICE_4_RESOURCE_CLAIM"] != second["GPU_DEVICE_4_RESOURCE_CLAIM"]
    halves = seen["halves", "main"]
    assert (halves["GPU_DEVICE_5_0"], halves["GPU_DEVICE_5_1"]) == ("gpu-5-0", "gpu-5-1")
    assert len(gpus(seen["preferring", "main"])) == 1
    assert gpus(seen["tolerant", "main"]) == {"gpu-6"}
    assert gpus(seen["extended", "first"]) != gpus(seen["extended", "second"])
    assert gpus(seen["checked", "main"]) == {"gpu-7"}
    (asked,) = checked["status"]["allocation"]["devices"]["results"]
    assert asked["bindingConditions"] == ["gpu.example.com/Fit"]
    said = [each for device in checked["status"]["devices"] for each in device["conditions"]]
    assert {each["type"]: each["status"] for each in said}["gpu.example.com/Fit"] == "True"
    admin = seen["admin", "main"]
    assert gpus(admin) == {"gpu-0", "gpu-1", "gpu-2", "gpu-3"}
    assert admin["DRA_ADMIN_ACCESS"] == "true"
    assert "DRA_ADMIN_ACCESS" not in seen["preferring", "main"]
