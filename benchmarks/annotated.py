"""Pods that name their network in Multus' annotation, against pods with a claim by hand.

Boots a lab of its own with the chart and its controller, and runs the same Deployment in turn with
an annotation, in a namespace that is labelled for it, and with a template that says the same. A
round is over when every pod is Ready. Both pay for the claim; what an annotation adds is that the
controller makes it, and has kube-controller-manager look for it.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.table import Row, print_table
from lab.cluster import Lab
from lab.helm import Helm, load_driver_image
from lab.kubectl import Kubectl
from lab.multus import DEFINITIONS, definition
from lab.progress import Progress
from netclaim.controller.annotated.names import (
    MULTUS_ANNOTATION,
    NAMESPACE_LABEL,
    NAMESPACE_VALUE,
)

__all__ = ["main"]

PODS = 100
ROUNDS = 3  # of each kind, in turn; the median of three bears one disturbed one
LIMIT_S = 900
GOAL = 1.1
NAMESPACE: Final = "bench"
DRIVER: Final = "cni.dra.networking.x-k8s.io"
CLASS: Final = "cni.networking.x-k8s.io"  # the chart's
# A round's pods are on two nodes, of which each takes 110. So many can share the link of each, too:
# the default is 32, and a round would never be over.
TOPOLOGY: Final = """\
nodes: [kind-control-plane, kind-worker]
networks:
- name: primary
  subnet: 172.18.0.0/24
  links: {kind-control-plane: eth0, kind-worker: eth0}
- name: media
  links: {kind-control-plane: eth1, kind-worker: eth1}
"""
CONFIG: Final = {
    "cniVersion": "1.0.0",
    "type": "macvlan",
    "mode": "bridge",
    "ipam": {"type": "host-local", "subnet": "10.10.0.0/16"},
}


@contextmanager
def bench_lab() -> Iterator[Kubectl]:
    """Provide a lab with the chart and the networks, which is gone afterwards."""
    lab = Lab("bench", Progress())
    with tempfile.TemporaryDirectory() as directory:
        topology = Path(directory) / "topology.yaml"
        topology.write_text(TOPOLOGY)
        lab.up(topology, port=0)
    try:
        load_driver_image(lab)
        admin = lab.kubectl()
        admin.apply(DEFINITIONS)
        room = f"--set=settings.attachments={{eth1={PODS}}}"
        Helm(lab).install("--set=controller.enabled=true", room)
        admin("create", "namespace", NAMESPACE)
        admin("label", "namespace", NAMESPACE, f"{NAMESPACE_LABEL}={NAMESPACE_VALUE}")
        kubectl = lab.kubectl(NAMESPACE)
        kubectl.apply(definition("media-net", json.dumps({**CONFIG, "master": "eth1"})), template())
        yield kubectl
    finally:
        lab.down()


def template() -> dict[str, Any]:
    """Return the template by hand."""
    expressions = (f'device.driver == "{DRIVER}"', f'device.attributes["{DRIVER}"].name == "eth1"')
    exactly = {
        "deviceClassName": CLASS,
        "selectors": [{"cel": {"expression": each}} for each in expressions],
    }
    config = {"cniVersion": "1.0.0", "name": "media-net", "plugins": [CONFIG]}
    parameters = {
        "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
        "kind": "CNI",
        "ifName": "net1",
        "config": config,
    }
    opaque = {"driver": DRIVER, "parameters": parameters}
    devices = {
        "requests": [{"name": "nic", "exactly": exactly}],
        "config": [{"requests": ["nic"], "opaque": opaque}],
    }
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    return {**head, "metadata": {"name": "by-hand"}, "spec": {"spec": {"devices": devices}}}


def deployment(name: str, *, annotated: bool, replicas: int) -> dict[str, Any]:
    """Return pods with a network, by either way."""
    container = {
        "name": "main",
        "image": "alpine:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
    }
    spec: dict[str, Any] = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    meta: dict[str, Any] = {"labels": {"app": name}}
    if annotated:
        meta["annotations"] = {MULTUS_ANNOTATION: "media-net"}
    else:
        spec["resourceClaims"] = [{"name": "nic", "resourceClaimTemplateName": "by-hand"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": "Recreate"},  # which is done when all replicas are available
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": meta, "spec": spec},
        },
    }


def seconds_of(kubectl: Kubectl, *, annotated: bool, replicas: int) -> float:
    """Return how long the pods of one kind take, and remove them."""
    name = "annotated" if annotated else "by-hand"
    made = deployment(name, annotated=annotated, replicas=replicas)
    begin_s = time.monotonic()
    kubectl.apply(made)
    kubectl("rollout", "status", f"deployment/{name}", f"--timeout={LIMIT_S}s")
    took_s = time.monotonic() - begin_s
    kubectl("delete", "deployment", name, "--cascade=foreground", f"--timeout={LIMIT_S}s")
    kubectl("wait", "pods", "--all", "--for=delete", f"--timeout={LIMIT_S}s")
    return took_s


def main() -> None:
    """Run the rounds and print the table."""
    with bench_lab() as kubectl:
        for annotated in (True, False):  # the first of each is not counted
            seconds_of(kubectl, annotated=annotated, replicas=1)
        found: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(ROUNDS):
            for annotated in (False, True):
                found[annotated].append(seconds_of(kubectl, annotated=annotated, replicas=PODS))
    by_hand, annotated_s = (statistics.median(found[each]) for each in (False, True))
    ratio = annotated_s / by_hand
    print_table(
        f"{PODS} pods with a network, until all are Ready",
        [
            Row("with a claim by hand", f"{by_hand:.1f} s"),
            Row("with Multus' annotation", f"{annotated_s:.1f} s"),
            Row("ratio", f"{ratio:.2f}", f"{GOAL} at most"),
        ],
    )


if __name__ == "__main__":
    main()
