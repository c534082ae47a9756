"""How fast claims are allocated: 1,000 nodes with 16 devices each, 1,000 claims.

    .venv/bin/python -m benchmarks.allocator [NODES [DEVICES [CLAIMS]]]

Every claim has a class with one selector and a selector of two clauses that half the devices
match. Each allocation is held before the next claim is tried, so the nodes fill up. For a pod,
kube-scheduler looks for 420 of 1,000 nodes; its published rate with DRA is about 250 pods a
second, API calls included, which are not in these figures. The last row is the worst case: no two
claims have the same selector, so nothing that was found out for one helps the next.
"""

import gc
import sys
import time
from typing import Any

from netclaim.allocator import Allocator, Claim, Holders, Node, Slice
from netclaim.model.api.dra.device_class import DeviceClass

DRIVER = "cni.dra.networking.x-k8s.io"
SELECTOR = (
    f'device.attributes["{DRIVER}"].kind == "macvlan" && device.attributes["{DRIVER}"].mtu >= 9000'
)


def slice_object(node: str, devices: int) -> dict[str, Any]:
    """Return a node's slice; every second device is one that the claims want."""
    return {
        "metadata": {"name": f"00000-{DRIVER}-{node}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"eth{index}",
                    "attributes": {
                        "name": {"string": f"eth{index}"},
                        "kind": {"string": "macvlan" if index % 2 else "vlan"},
                        "mtu": {"int": 9000},
                        "numaNode": {"int": index % 2},
                    },
                }
                for index in range(devices)
            ],
        },
    }


def claim_object(index: int, *, own_selector: bool = False) -> dict[str, Any]:
    """Return a claim of one device."""
    expression = f"{SELECTOR} && {index} >= 0" if own_selector else SELECTOR
    exactly = {"deviceClassName": "net", "selectors": [{"cel": {"expression": expression}}]}
    return {
        "metadata": {"name": f"claim-{index}", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "nic", "exactly": exactly}]}},
    }


def class_object() -> dict[str, Any]:
    """Return the class that all claims name."""
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return {"metadata": {"name": "net"}, "spec": {"selectors": selectors}}


def run(slices: list[Slice], nodes: list[Node], claims: list[Claim], enough: int | None) -> float:
    """Allocate all claims; return the CPU seconds that it took, selectors' evaluation included."""
    holders = Holders()
    allocator = Allocator(slices, [DeviceClass.read(class_object())], holders)
    gc.collect()
    began = time.process_time()
    start = 0
    for claim in claims:
        rotated = nodes[start:] + nodes[:start]  # as the scheduler: go on where it stopped
        decision = allocator.decide([claim], rotated, enough=enough)
        allocation = next(iter(decision.placements.values())).allocations()[0]
        holders.hold(claim, allocation.result)
        start = (start + (enough or 1)) % len(nodes)
    return time.process_time() - began


def main(*given: int) -> None:
    """Print a table of claims per second."""
    node_count, devices, claim_count = [*given, *(1000, 16, 1000)[len(given) :]]
    names = [f"node-{index:04d}" for index in range(node_count)]
    nodes = [Node(name, {}) for name in names]
    objects = [slice_object(name, devices) for name in names]
    began = time.process_time()
    slices = [Slice.read(one) for one in objects]
    claims = [Claim.read(claim_object(index)) for index in range(claim_count)]
    reading = time.process_time() - began
    print(
        f"{node_count} nodes x {devices} devices, {claim_count} claims; reads {reading:.2f} CPU s"
    )
    sampled = max(100, node_count * max(5, 50 - node_count // 125) // 100)  # as the scheduler
    own = [Claim.read(claim_object(index, own_selector=True)) for index in range(claim_count)]
    rows: tuple[tuple[str, int | None, list[Claim]], ...] = (
        ("the first node that fits", 1, claims),
        (f"{sampled} nodes that fit", sampled, claims),
        ("every node", None, claims),
        ("the first node, own selectors", 1, own),
    )
    print(f"{'until':<32}{'CPU s':>10}{'claims/s':>12}")
    for label, enough, wanted in rows:
        seconds = run(slices, nodes, wanted, enough)
        print(f"{label:<32}{seconds:>10.2f}{claim_count / seconds:>12.0f}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
