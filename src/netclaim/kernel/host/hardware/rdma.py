"""RDMA devices according to sysfs: the files by which programs use one, and whom they are shown to.

RDMA is remote direct memory access: a program reads and writes the memory of another machine
through the card, by files below /dev/infiniband.

Promise: this never fails; what cannot be read is not there. Limit: it reads files and blocks, two
for each RDMA device of the machine. The files by which a fabric is managed (umad, issm) are left
out: they reach beyond the device that was claimed.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from netclaim.kernel.host.hardware.sysfs import SYS, children_of, rdma_ports, resolved, text_at

DIRECTORY: Final = "/dev/infiniband"
CONNECTIONS: Final = "rdma_cm"  # how connections are made, by the addresses of links
# Whether each RDMA device is shown in every network namespace (Y), or only in its own.
SHARED: Final = "module/ib_core/parameters/netns_mode"


def rdma_files(devices: Collection[str], root: Path = SYS) -> tuple[str, ...]:
    """Return the paths of the files that a program needs to use these RDMA devices."""
    classes = root / "class"
    verbs = classes / "infiniband_verbs"
    found = [name for name in children_of(verbs) if text_at(verbs / name / "ibdev") in devices]
    if found and (classes / "misc" / CONNECTIONS).exists():
        found.append(CONNECTIONS)
    return tuple(f"{DIRECTORY}/{name}" for name in found)


def without_link(root: Path = SYS) -> tuple[str, ...]:
    """Name the RDMA devices of hardware that has no link, in whichever namespace."""
    return tuple(
        name for name in children_of(root / "class/infiniband") if _has_no_link(name, root)
    )


def _has_no_link(name: str, root: Path) -> bool:
    device = resolved(root / "class/infiniband" / name / "device")
    if device is None or is_software(name, root) or any(rdma_ports(name, root)):
        return False
    # The directory of a device's links is there for as long as there is one, wherever that is.
    return not (device / "net").exists()


def is_infiniband(device: str, root: Path = SYS) -> bool:
    """Whether a port of an RDMA device is one of an InfiniBand fabric."""
    return "InfiniBand" in _of_ports(device, "link_layer", root)


def is_active(device: str, root: Path = SYS) -> bool:
    """Whether a port of an RDMA device reaches others."""
    return any(state.endswith("ACTIVE") for state in _of_ports(device, "state", root))


def _of_ports(device: str, file: str, root: Path) -> tuple[str, ...]:
    ports = root / "class/infiniband" / device / "ports"
    return tuple(text_at(ports / each / file) for each in children_of(ports))


def is_software(device: str, root: Path = SYS) -> bool:
    """Whether the kernel makes an RDMA device of a link (rxe); it ends when the link moves."""
    return (root / "class/infiniband" / device / "parent").exists()


def uses_only(device: str, link: str, root: Path = SYS) -> bool:
    """Whether an RDMA device uses no other link than this one.

    The hardware of two links can have one RDMA device with a port for each: who has its files
    reaches both. Of a port whose link is not known, only one is the link's for sure.
    """
    ports = rdma_ports(device, root)
    return all(port == link for port in ports) or (len(ports) == 1 and not ports[0])


def follows_namespaces(root: Path = SYS) -> bool:
    """Whether an RDMA device is shown in one namespace only, so that it has to go with its link."""
    return text_at(root / SHARED) == "N"
