"""What has to be true of a guest's cards, and of the devices that they are."""

from collections.abc import Mapping
from typing import Any, Final

DESCRIBED: Final = "cards and functions are told apart"
VFS: Final = 3  # of each of the two cards, of seven that it could have
ROOTS: Final = {"pci0000:20": 0, "pci0000:40": 1}  # and their NUMA nodes, as `lab.guest` builds it
# What a guest loads for them.
MODULES: Final = (
    *("9pnet_virtio", "9p", "igb", "igbvf", "pci_stub"),
    *("rdma_rxe", "rdma_ucm", "crc32_generic"),
    *("veth", "bridge", "dummy", "vrf"),
    *("ipvlan", "8021q", "ifb", "sch_tbf", "sch_ingress", "cls_u32", "act_mirred"),
    *("vfio_pci", "vfio_iommu_type1"),
)


def device_faults(devices: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Two cards on two roots, each with functions that are told apart."""
    cards = {name: each for name, each in devices.items() if "pciAddress" in each}
    found = []
    for root, numa in ROOTS.items():
        here = [each for each in cards.values() if each["resource.kubernetes.io/pcieRoot"] == root]
        cards_here = [each for each in here if each["sriov"]]
        functions = [each for each in here if each["isSriovVf"]]
        if len(cards_here) != 1 or len(functions) != VFS:
            found.append(f"{root}: {len(cards_here)} cards, {len(functions)} functions")
            continue
        card = cards_here[0]
        found += _wrong(card, {"driver": "igb", "sriovVfs": VFS, "numaNode": numa, "rdma": False})
        for each in functions:
            wanted = {"driver": "igbvf", "pfName": card["name"], "sriov": False, "numaNode": numa}
            found += _wrong(each, wanted)
        numbers = sorted(each.get("vfIndex", -1) for each in functions)
        if numbers != list(range(VFS)):
            found.append(f"{root}: functions {numbers}")
    return found


def _wrong(device: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    return [
        f"{device['name']}: {name} is {device.get(name)!r}, not {value!r}"
        for name, value in wanted.items()
        if device.get(name) != value
    ]
