"""netclaim-attach in the list of a real containerd: who waits for the driver, and who does not."""

import asyncio
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.cluster import Lab
from lab.kubectl import Kubectl
from netclaim.chained import (
    OK,
    Answer,
    AttachServer,
    Command,
    Installer,
    PlanFiles,
    PluginEntry,
    Request,
    program_path,
)
from tests.cluster.site.drivers import wait_event
from tests.cluster.site.manifests import deployment

NODE = "kind-worker2"
DRIVER = "chained.example"
RUN_DIR = f"run/netclaim/{DRIVER}"
GATE = {"name": "netclaim.example/not-yet"}


@pytest.fixture
def run_dir(lab: Lab) -> Iterator[Path]:
    """The driver's directory on the node, as seen from here; nobody serves its socket."""
    root = lab.root(NODE)
    entry = PluginEntry(
        DRIVER, f"/{RUN_DIR}/attach.sock", f"/{RUN_DIR}/plans", "/var/lib/kubelet/dra_manager_state"
    )
    conf_dir = root / "etc/cni/net.d"
    before = {path.name: path.read_text() for path in conf_dir.iterdir()}
    installer = Installer(conf_dir, root / "opt/cni/bin", entry, program=program_path())
    installer.install()
    try:
        yield root / RUN_DIR
    finally:
        asyncio.run(installer.remove())
        shutil.rmtree(root / RUN_DIR)
    assert {path.name: path.read_text() for path in conf_dir.iterdir()} == before


def gated_pod(name: str) -> dict[str, Any]:
    """A pod that waits at a gate before it is scheduled, so that its UID can be noted meanwhile."""
    spec = deployment(name, 1, node=NODE)["spec"]["template"]["spec"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {**spec, "schedulingGates": [GATE]},
    }


def test_plain_pods_do_not_wait(kubectl: Kubectl, run_dir: Path) -> None:
    """Pods that claim nothing start and end beside a driver that hangs, and in its namespaces."""
    PlanFiles(run_dir / "plans").set_shared(kubectl.namespace, ["067798be-454e-4be4-9047-1aa06aea"])
    with socket.socket(socket.AF_UNIX) as hung:
        hung.bind(str(run_dir / "attach.sock"))
        hung.listen(8)
        kubectl.apply(deployment("plain", 3, node=NODE))
        kubectl.wait("deployment/plain", "jsonpath={.status.availableReplicas}=3")
        kubectl("delete", "deployment/plain", "--cascade=foreground", "--timeout=180s")


def test_a_planned_pod_waits_for_the_driver(kubectl: Kubectl, run_dir: Path) -> None:
    """Without the driver it is refused and says why; with it it starts, and its end is reported."""
    plans = PlanFiles(run_dir / "plans")
    kubectl.apply(gated_pod("planned"))
    uid = kubectl.get("pod", "planned")["metadata"]["uid"]
    plans.note_pod(uid)
    kubectl("patch", "pod", "planned", "--type=merge", '--patch={"spec":{"schedulingGates":null}}')
    wait_event(kubectl, "planned", f"the netclaim driver {DRIVER} is not running on this node")
    requests = asyncio.run(serve_until_gone(kubectl, run_dir / "attach.sock"))
    add, delete = requests[0], requests[-1]
    assert (add.command, delete.command) == (Command.ADD, Command.DEL)
    assert {request.pod_uid for request in requests} == {uid}
    assert add.pod_namespace == kubectl.namespace
    assert add.netns.startswith("/")
    assert b'"prevResult"' in add.stdin


async def serve_until_gone(kubectl: Kubectl, path: Path) -> list[Request]:
    """Serve until the pod has started and its sandbox has been taken down; what was asked."""
    requests: list[Request] = []
    deleted = asyncio.Event()

    async def handle(request: Request) -> Answer:
        requests.append(request)
        if request.command is Command.DEL:
            deleted.set()
        return OK

    async with AttachServer(path, handle, grace_s=30):
        # A refused sandbox is taken down before the next one is made; that DEL is not the one.
        await asyncio.to_thread(kubectl.wait, "pod/planned", "condition=Ready")
        deleted.clear()
        await asyncio.to_thread(kubectl, "delete", "pod", "planned")
        await deleted.wait()
    return [request for request in requests if request.container_id == requests[-1].container_id]
