"""What one namespace's claims do to the pods of another: in ratios to what plain pods do to them.

Boots a lab, and starts a pod with a claim alone, beside 40 plain pods of another namespace, and
beside 40 pods of that namespace with claims: as large as the API accepts them, which the driver
refuses, and as large as the policy allows, which it serves. Of the former there are two kinds: with
as much text as possible, which takes long to judge, and with as many values, which take long to
decode. A delay is what the pod takes longer than alone; the goal is that claims cause no more of it
than plain pods.
"""

import json
import os
import statistics
import time
from typing import Any

from benchmarks.cluster import NODE, bench_lab, start_resident
from benchmarks.table import Row, print_table
from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl

__all__ = ["main"]

ROUNDS = int(os.environ.get("NETCLAIM_BENCH_ROUNDS", "5"))  # of each kind, in turn
CROWD = 40
REQUESTS = 32  # as many as a claim can have
PARAMETERS_MAX = 10_000  # bytes; the API accepts 10 KiB
NETWORK_MAX = 4096  # bytes of a network that the policy allows
GENERIC = "cni"
HEAD = {"apiVersion": "cni.networking.x-k8s.io/v1alpha1", "kind": "CNI"}
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "neighbours"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DEFAULT_DRIVER}"'}}]},
}


def template(name: str, networks: dict[str, object], link: str) -> dict[str, Any]:
    """Return a template with a request for each network, all of them on one link."""
    selector = f'device.attributes["{DEFAULT_DRIVER}"].name == "{link}"'
    selectors = [{"cel": {"expression": selector}}]
    exactly = {"deviceClassName": "neighbours", "selectors": selectors}
    devices = {
        "requests": [{"name": request, "exactly": exactly} for request in networks],
        "config": [
            {
                "requests": [request],
                "opaque": {
                    "driver": DEFAULT_DRIVER,
                    "parameters": {**HEAD, "ifName": f"net{index}", "config": network},
                },
            }
            for index, (request, network) in enumerate(networks.items())
        ],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": devices}},
    }


def largest() -> dict[str, object]:
    """Return as much text as a claim can have, all of it read before it is refused."""
    plugin = {"type": "sbr"}
    count = (PARAMETERS_MAX - 300) // (2 * len(json.dumps(plugin)))
    network = {"cniVersion": "1.0.0", "name": "large", "plugins": [plugin] * count}
    return {f"r{index}": json.dumps(network) for index in range(REQUESTS)}


def most_values() -> dict[str, object]:
    """Return as many values as a claim can have: empty lists, of three bytes each."""
    lists: list[object] = [[] for _ in range((PARAMETERS_MAX - 300) // len("[],"))]
    plugins = [{"type": "macvlan"}]
    network = {"cniVersion": "1.0.0", "name": "nested", "plugins": plugins, "x": lists}
    return {f"r{index}": network for index in range(REQUESTS)}


def allowed() -> dict[str, object]:
    """Return a network as large as the policy allows one."""
    routes = [{"dst": f"10.{index}.0.0/16"} for index in range(60)]
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": f"172.{16 + index}.0.0/16"}] for index in range(8)],
        "routes": routes,
    }
    sysctls = {f"net.ipv4.conf.IFNAME.{key}": "1" for key in ("arp_filter", "arp_notify")}
    plugins = [{"type": "dummy", "ipam": ipam}, *[{"type": "tuning", "sysctl": sysctls}] * 7]
    network = {"cniVersion": "1.0.0", "name": "allowed", "plugins": plugins}
    assert len(json.dumps(network)) < NETWORK_MAX
    return {"nic": network}


def pod_spec(claim: str = "") -> dict[str, Any]:
    """Return a pod on the node, with a claim made from a template if one is named."""
    container = {
        "name": "app",
        "image": "alpine:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
    }
    spec: dict[str, Any] = {
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {"kubernetes.io/hostname": NODE},
    }
    if claim:
        spec["resourceClaims"] = [{"name": "nic", "resourceClaimTemplateName": claim}]
    return spec


def crowd(claim: str = "") -> dict[str, Any]:
    """Return the Deployment of the other namespace."""
    labels = {"app": "crowd"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "crowd"},
        "spec": {
            "replicas": CROWD,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(claim)},
        },
    }


def listed(kubectl: Kubectl, kinds: str) -> list[str]:
    """Return what there is, as a table: the claims themselves have a megabyte each."""
    return kubectl("get", kinds, "--no-headers", "--ignore-not-found").splitlines()


def time_beside(lab: Lab, deployment: dict[str, Any] | None) -> float:
    """Return how long a pod with a claim takes to be Ready, beside a crowd that has just begun."""
    one, many = lab.kubectl(namespace="one"), lab.kubectl(namespace="many")
    if deployment is not None:
        many.apply(deployment)
        while len(listed(many, "pods")) < CROWD:
            time.sleep(0.05)
    started = time.monotonic()
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": pod_spec("one")}
    one.apply(pod)
    one.wait("pod/pod", "condition=Ready")
    taken = time.monotonic() - started
    one("delete", "pod/pod")
    if deployment is not None:
        many("delete", "deployment/crowd", "--cascade=foreground", "--timeout=300s")
    while listed(many, "pods,resourceclaims") or listed(one, "resourceclaims"):
        time.sleep(0.5)
    return taken


def main() -> None:
    """Measure and print."""
    macvlan = {"cniVersion": "1.0.0", "name": "one", "plugins": [{"type": "macvlan"}]}
    kinds: dict[str, dict[str, Any] | None] = {
        "alone": None,
        "plain": crowd(),
        "refused": crowd("largest"),
        "many values": crowd("most-values"),
        "served": crowd("allowed"),
    }
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    with bench_lab() as lab:
        DriverSet(lab).up(netclaim_driver(DEFAULT_DRIVER))
        admin = lab.kubectl()
        for name in ("one", "many"):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            admin.apply(namespace)
        admin.apply(CLASS)
        lab.kubectl(namespace="one").apply(template("one", {"nic": macvlan}, "eth1"))
        templates = (
            template("largest", largest(), GENERIC),
            template("most-values", most_values(), GENERIC),
            template("allowed", allowed(), GENERIC),
        )
        # Not by `kubectl apply`, whose annotation with the whole object would be over its limit.
        written = "\n---\n".join(json.dumps(each) for each in templates)
        lab.kubectl(namespace="many")("create", "--filename=-", stdin=written)
        start_resident(lab, pod_spec())
        for _ in range(ROUNDS):
            for kind, deployment in kinds.items():
                taken[kind].append(time_beside(lab, deployment))
    alone = statistics.median(taken["alone"])
    rows = [Row("a pod with a claim, alone", f"{alone:.2f} s")]
    delays = {kind: statistics.median(taken[kind]) - alone for kind in kinds}
    texts = {
        "plain": f"its delay beside {CROWD} plain pods of another namespace",
        "refused": f"the same beside {CROWD} with claims as large as the API accepts, refused",
        "many values": f"the same beside {CROWD} with claims of as many values as fit, refused",
        "served": f"the same beside {CROWD} with claims as large as the policy allows, served",
    }
    rows += [Row(text, f"{delays[kind]:.2f} s") for kind, text in texts.items()]
    for kind in ("refused", "many values", "served"):
        ratio = delays[kind] / max(delays["plain"], 0.01)
        rows.append(Row(f"{kind} / plain, median of {ROUNDS}", f"{ratio:.2f}", "at most 1"))
    print_table("a neighbour's claims", rows)


if __name__ == "__main__":
    main()
