"""No pod of ours runs without its interface, whatever fails, and nothing is lost or left over."""

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, is_ready, netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from netclaim.kubelet.client import DraClient, RegisteredDriver
from netclaim.kubelet.dra_api import DRA_APIS
from netclaim.model import ClaimRef
from netclaim.network.policy.levels import LABEL
from tests.cluster.site.claims import claim, macvlan, parameters, pod, request, simple_claim
from tests.cluster.site.drivers import (
    addresses,
    eventually,
    in_node,
    journal_rows,
    reserved_addresses,
    wait_claim,
    wait_event,
    wait_true_report,
)

NODE = "kind-worker"
DRIVER_COMPONENT = f"{NODE}/driver-{DEFAULT_DRIVER}"
KUBELET_RECORD = "/var/lib/kubelet/dra_manager_state"

# Does what its file says before it becomes the real plugin; the file is not there: nothing.
MOODY_PLUGIN = """#!/bin/sh
if [ "$CNI_COMMAND" = ADD ] && [ -e /run/mood ]; then . /run/mood; fi
exec /opt/cni/bin/macvlan
"""
REFUSE = """echo '{"cniVersion":"1.0.0","code":100,"msg":"the switch is on fire"}'; exit 1"""
DAWDLE = "sleep 3"


@pytest.fixture
def mood(lab: Lab, kubectl: Kubectl, driver: str) -> Iterator[Path]:
    """A plugin `moody` on the node that claims may name, and the file that decides its mood."""
    kubectl("label", "namespace", kubectl.namespace, f"{LABEL}=privileged")
    plugin = lab.root(NODE) / "opt/cni/bin/moody"
    plugin.write_text(MOODY_PLUGIN)
    plugin.chmod(0o755)
    file = lab.root(NODE) / "run/mood"
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)
        plugin.unlink()


def moody(name: str) -> dict[str, Any]:
    """A claim whose interface the moody plugin makes."""
    return simple_claim(name, "eth1", parameters(macvlan(name, master="eth1", type="moody")))


def container_started(kubectl: Kubectl, name: str) -> bool:
    """Whether the pod's container runs or ever ran."""
    statuses = kubectl.get("pod", name)["status"].get("containerStatuses", [])
    return bool(statuses) and ("running" in statuses[0]["state"] or statuses[0]["restartCount"] > 0)


def check_all_gone(lab: Lab, kubectl: Kubectl, name: str) -> None:
    """With its pod, everything of the interface goes."""
    kubectl("delete", "pod", name)
    eventually(lambda: journal_rows(lab, NODE, DEFAULT_DRIVER), lambda n: n == 0, "no rows")
    assert reserved_addresses(lab, NODE, name) == set()


def test_failing_plugin_holds_the_pod_until_it_works(
    lab: Lab, kubectl: Kubectl, mood: Path
) -> None:
    """A plugin that fails: no container, Ready=False; mended, the pod starts."""
    trouble, told = "refuses", "the switch is on fire"
    mood.write_text(REFUSE)
    kubectl.apply(moody(trouble), pod(trouble, trouble))
    wait_event(kubectl, trouble, told)
    (device,) = wait_claim(kubectl, trouble, "False")["status"]["devices"]
    (condition,) = device["conditions"]
    assert condition["reason"] == "NetworkInterfaceNotReady"
    assert told in condition["message"]
    warned = kubectl.items("events", "--field-selector=involvedObject.kind=ResourceClaim")
    assert any(told in event["message"] for event in warned)
    assert not container_started(kubectl, trouble)
    assert reserved_addresses(lab, NODE, trouble) == set()
    mood.unlink()
    kubectl.wait(f"pod/{trouble}", "condition=Ready")
    assert len(addresses(kubectl, trouble, "net1")) == 1
    (device,) = wait_claim(kubectl, trouble, "True")["status"]["devices"]
    assert device["conditions"][0]["lastTransitionTime"] >= condition["lastTransitionTime"]
    check_all_gone(lab, kubectl, trouble)


@pytest.mark.parametrize("caller", ["cni", "nri"])
def test_slow_plugin_holds_the_pod_until_it_is_done(
    lab: Lab, kubectl: Kubectl, request: pytest.FixtureRequest, mood: Path, caller: str
) -> None:
    """A plugin that takes longer than the runtime's hook: the pod waits, and has its interface."""
    if caller == "nri":
        request.getfixturevalue("by_nri_alone")
    mood.write_text(DAWDLE)
    name = f"slow-{caller}"
    looks = pod(name, name)
    (container,) = looks["spec"]["containers"]
    container["command"] = ["sh", "-c", "ip link show net1 && exec sleep infinity"]
    kubectl.apply(moody(name), looks)
    kubectl.wait(f"pod/{name}", "condition=Ready")
    (status,) = kubectl.get("pod", name)["status"]["containerStatuses"]
    assert status["restartCount"] == 0  # it was there when the container looked
    mood.unlink()
    check_all_gone(lab, kubectl, name)


def test_one_failing_interface_rolls_the_others_back(
    lab: Lab, kubectl: Kubectl, mood: Path
) -> None:
    """When one of a pod's interfaces fails, the others are taken back before the next try."""
    mood.write_text(REFUSE)
    both = claim(
        "pair",
        {
            "fine": parameters(macvlan("fine", master="eth0"), "fine0"),
            "bad": parameters(macvlan("pair", master="eth1", type="moody"), "bad0"),
        },
        [request("fine", "eth0"), request("bad", "eth1")],
    )
    kubectl.apply(both, pod("pair", "pair", nodeSelector={"kubernetes.io/hostname": NODE}))
    wait_event(kubectl, "pair", "the switch is on fire")
    eventually(
        lambda: reserved_addresses(lab, NODE, "fine"), lambda found: not found, "no address held"
    )
    mood.unlink()
    kubectl.wait("pod/pair", "condition=Ready")
    for interface in ("fine0", "bad0"):
        assert len(addresses(kubectl, "pair", interface)) == 1
    check_all_gone(lab, kubectl, "pair")
    assert reserved_addresses(lab, NODE, "fine") == set()


def kill_driver_after_prepare(lab: Lab, kubectl: Kubectl, manifest: dict[str, Any]) -> None:
    """Bring a pod to where its claim is prepared and no sandbox is made, and kill the driver there.

    The runtime is stopped meanwhile. Kubelet sometimes asks for the claim before the API server
    lets it, and without a runtime does not ask again: then the pod is made anew.
    """
    containerd = lab.state.load().components[f"{NODE}/containerd"]
    for _ in range(10):
        os.kill(containerd.pid, signal.SIGSTOP)
        try:
            kubectl.apply(manifest)
            if prepared_within(lab, kubectl.namespace, manifest, 15):
                lab.kill(DRIVER_COMPONENT)
                return
        finally:
            os.kill(containerd.pid, signal.SIGCONT)
        # With a grace period kubelet says when it is done. Should it end a pod later, it would
        # release the claim that its successor has by then: it does not look whose claim it is.
        kubectl("delete", "pod", manifest["metadata"]["name"], "--grace-period=1")
    raise AssertionError("kubelet never prepared the claim")


def prepared_within(lab: Lab, namespace: str, manifest: dict[str, Any], limit_s: float) -> bool:
    """Whether kubelet has the driver's answer about a pod's claim on record before long."""
    (wanted,) = manifest["spec"]["resourceClaims"]
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        record = in_node(lab, NODE, "sh", "-c", f"cat {KUBELET_RECORD} || true")
        claims = json.loads(json.loads(record)["Data"])["ClaimInfoStateList"] if record else None
        for each in claims or ():
            here = (each["Namespace"], each["ClaimName"])
            devices = each["DriverState"].get(DEFAULT_DRIVER, {}).get("Devices")
            if here == (namespace, wanted["resourceClaimName"]) and devices:
                return True
    return False


@pytest.fixture
def by_nri_alone(drivers: DriverSet, driver: str) -> Iterator[str]:
    """The driver, called by the runtime's plugin interface alone."""
    drivers.down(driver)
    drivers.up(netclaim_driver(driver, "--runtime-hook=nri"))
    try:
        yield driver
    finally:
        drivers.down(driver)
        drivers.up(netclaim_driver(driver))


def test_driver_killed_between_prepare_and_sandbox(
    lab: Lab, drivers: DriverSet, kubectl: Kubectl, driver: str
) -> None:
    """The runtime's own network configuration refuses the pod until the driver is back."""
    kubectl.apply(simple_claim("late"))
    kill_driver_after_prepare(lab, kubectl, pod("late", "late"))
    wait_event(kubectl, "late", "is not running on this node")
    kubectl.apply(pod("plain", nodeSelector={"kubernetes.io/hostname": NODE}))
    kubectl.wait("pod/plain", "condition=Ready")  # in the same namespace, and claims nothing
    assert not container_started(kubectl, "late")
    lab.restart(DRIVER_COMPONENT)
    drivers.wait_ready(driver, NODE)
    kubectl.wait("pod/late", "condition=Ready")
    assert len(addresses(kubectl, "late", "net1")) == 1
    check_all_gone(lab, kubectl, "late")


def test_pod_that_slipped_through(
    lab: Lab, drivers: DriverSet, kubectl: Kubectl, by_nri_alone: str
) -> None:
    """By NRI alone, the pod starts unhooked; the driver, back again, attaches from its journal."""
    kubectl.apply(simple_claim("late"))
    kill_driver_after_prepare(lab, kubectl, pod("late", "late"))
    kubectl.wait("pod/late", "condition=Ready")  # fail-open: nobody is there to refuse it
    lab.restart(DRIVER_COMPONENT)
    drivers.wait_ready(by_nri_alone, NODE)
    # The kill may have come after an attach: then the status is at first that of a sandbox before.
    wait_true_report(kubectl, "late", "late")
    check_all_gone(lab, kubectl, "late")


def test_container_is_refused_while_the_interface_is_missing(
    lab: Lab, drivers: DriverSet, kubectl: Kubectl, by_nri_alone: str, mood: Path
) -> None:
    """A sandbox made while the driver was down gets no container before its interface."""
    mood.write_text(REFUSE)
    image = "netclaim.dev/not-yet:1"
    kubectl.apply(moody("gated"))
    kill_driver_after_prepare(lab, kubectl, pod("gated", "gated", image=image))
    wait_event(kubectl, "gated", image)  # the sandbox is there, the image is not
    lab.restart(DRIVER_COMPONENT)
    drivers.wait_ready(by_nri_alone, NODE)
    load_as(lab, image)
    wait_event(kubectl, "gated", "the switch is on fire")
    assert not container_started(kubectl, "gated")
    mood.unlink()
    kubectl.wait("pod/gated", "condition=Ready")
    assert len(addresses(kubectl, "gated", "net1")) == 1
    check_all_gone(lab, kubectl, "gated")


def test_pod_that_cannot_do_without_the_driver(
    lab: Lab, drivers: DriverSet, kubectl: Kubectl, by_nri_alone: str
) -> None:
    """A pod that names the driver as required does not run while nobody is there to refuse it."""
    kubectl.apply(simple_claim("strict"))
    strict = pod("strict", "strict")
    strict["metadata"]["annotations"] = {"required-plugins.noderesource.dev": f'["{by_nri_alone}"]'}
    kill_driver_after_prepare(lab, kubectl, strict)
    wait_event(kubectl, "strict", f'required plugin "{by_nri_alone}" not present')
    assert not container_started(kubectl, "strict")
    lab.restart(DRIVER_COMPONENT)
    drivers.wait_ready(by_nri_alone, NODE)
    kubectl.wait("pod/strict", "condition=Ready")
    assert len(addresses(kubectl, "strict", "net1")) == 1
    check_all_gone(lab, kubectl, "strict")


def test_claim_released_under_a_running_pod(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """Kubelet may release a claim for a pod that ended, and whose successor has it by now."""
    kubectl.apply(simple_claim("heir"), pod("heir", "heir"))
    kubectl.wait("pod/heir", "condition=Ready")
    before = addresses(kubectl, "heir", "net1")
    uid = kubectl.get("resourceclaim", "heir")["metadata"]["uid"]
    ref = ClaimRef(uid=uid, namespace=kubectl.namespace, name="heir")
    assert asyncio.run(unprepare(lab, driver, ref)) is None
    assert addresses(kubectl, "heir", "net1") == before
    assert reserved_addresses(lab, NODE, "heir") == {before[0].partition("/")[0]}
    check_all_gone(lab, kubectl, "heir")


async def unprepare(lab: Lab, driver: str, ref: ClaimRef) -> str | None:
    """Release a claim as kubelet does; the driver's complaint, if it has one."""
    socket = lab.root(NODE) / "var/lib/kubelet/plugins" / driver / "dra.sock"
    registered = RegisteredDriver(driver, socket, DRA_APIS[0], (DRA_APIS[0].version,))
    async with DraClient(registered) as kubelet:
        return (await kubelet.unprepare([ref]))[ref.uid]


def load_as(lab: Lab, name: str) -> None:
    """Give the node an image under a name that it did not have."""
    ctr = str(lab.binaries.path("ctr"))
    in_node(
        lab, NODE, ctr, "-n", "k8s.io", "images", "tag", "docker.io/library/alpine:latest", name
    )


@pytest.mark.versions("lifecycle")
def test_driver_killed_under_running_pods(
    lab: Lab, drivers: DriverSet, kubectl: Kubectl, driver: str
) -> None:
    """A pod keeps its interface without the driver; deleted meanwhile, all of it goes later."""
    kubectl.apply(simple_claim("steady"), pod("steady", "steady"))
    kubectl.wait("pod/steady", "condition=Ready")
    before = addresses(kubectl, "steady", "net1")
    lab.kill(DRIVER_COMPONENT)
    assert addresses(kubectl, "steady", "net1") == before
    kubectl("delete", "pod", "steady", "--wait=false")
    lab.restart(DRIVER_COMPONENT)
    drivers.wait_ready(driver, NODE)
    kubectl("wait", "pod/steady", "--for=delete", "--timeout=180s")
    eventually(lambda: journal_rows(lab, NODE, driver), lambda n: n == 0, "no rows")
    assert reserved_addresses(lab, NODE, "steady") == set()


@pytest.mark.versions("lifecycle")
def test_lost_state(lab: Lab, drivers: DriverSet, kubectl: Kubectl, driver: str) -> None:
    """A driver whose state was lost knows running pods again, and cleans up after them."""
    kubectl.apply(simple_claim("kept"), pod("kept", "kept"))
    kubectl.wait("pod/kept", "condition=Ready")
    before = wait_claim(kubectl, "kept", "True")["status"]["devices"]
    lab.kill(DRIVER_COMPONENT)
    shutil.rmtree(lab.root(NODE) / "var/lib/netclaim" / driver)
    lab.restart(DRIVER_COMPONENT)
    drivers.wait_ready(driver, NODE)
    eventually(lambda: journal_rows(lab, NODE, driver), lambda rows: rows == 3, "a known pod")
    assert kubectl.get("resourceclaim", "kept")["status"]["devices"] == before
    check_all_gone(lab, kubectl, "kept")


@pytest.mark.versions("lifecycle")
def test_runtime_restart(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """After containerd restarts, new pods get interfaces and old ones leave nothing behind."""
    kubectl.apply(simple_claim("old"), pod("old", "old"))
    kubectl.wait("pod/old", "condition=Ready")
    before = addresses(kubectl, "old", "net1")
    lab.restart(f"{NODE}/containerd")
    eventually(lambda: is_hooked(lab), lambda hooked: hooked, "the driver hooked again")
    kubectl("delete", "pod", "old")
    eventually(lambda: journal_rows(lab, NODE, driver), lambda n: n == 0, "no rows")
    assert before
    assert reserved_addresses(lab, NODE, "old") == set()
    kubectl.apply(simple_claim("new"), pod("new", "new"))
    kubectl.wait("pod/new", "condition=Ready")
    assert len(addresses(kubectl, "new", "net1")) == 1
    kubectl("delete", "pod", "new")


def is_hooked(lab: Lab) -> bool:
    """Whether the driver on the node is connected to the runtime and kubelet."""
    running = lab.state.load()
    return is_ready(running.inits[NODE], running.drivers[DEFAULT_DRIVER])


@pytest.mark.versions("lifecycle")
def test_node_reboot(lab: Lab, drivers: DriverSet, kubectl: Kubectl, driver: str) -> None:
    """After a reboot the pod comes back with an interface, and the old address is released."""
    kubectl.apply(simple_claim("phoenix"), pod("phoenix", "phoenix"))
    kubectl.wait("pod/phoenix", "condition=Ready")
    lab.reboot(NODE)
    drivers.wait_ready(driver, NODE)
    kubectl.wait("pod/phoenix", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    kubectl.wait("pod/phoenix", "condition=Ready")
    now = addresses(kubectl, "phoenix", "net1")
    assert reserved_addresses(lab, NODE, "phoenix") == {now[0].partition("/")[0]}
    eventually(
        lambda: kubectl.get("resourceclaim", "phoenix")["status"]["devices"][0]["networkData"],
        lambda data: data["ips"] == now,
        "the new address in the claim's status",
    )
    check_all_gone(lab, kubectl, "phoenix")
