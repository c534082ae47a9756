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

from netclaim.kernel.host.hardware.sysfs import SYS, children_of, rdma_ports, text_at

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
