"""A guest with network cards: an emulator that has some, and a kernel with their drivers.

    node 0   pcie.0   root port rp0   card 0 (igb, 7 virtual functions)
    node 1   pcie.1   root port rp1   card 1

An IOMMU keeps the cards and their functions apart, so that programs can drive them (vfio). Emulator
and kernel are unpacked once from pinned packages of Debian's backports, beside the lab's other
parts, and run from there. Promise: nothing is installed on this machine. Limit: it needs the shared
libraries of the installed emulator. A cable joins the two cards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lab.errors import BootError
from lab.guest.debian import GuestPins, download, files_of, load_guest_pins
from lab.guest.kernel import KERNEL, RELEASE, GuestKernel, load_order, plain_name
from lab.guest.qemu import QEMU, Hardware
from lab.parts.build import only_one_builder, staged
from lab.parts.pins import cache_root
from lab.progress import Progress

__all__ = ["GuestMachine", "fetch_machine"]

NUMA_NODES = 2  # the second has no processor: two of them, emulated, wait for each other too long
NODE_MIB = 512  # of each NUMA node: an API server, a kubelet and a driver in Python beside a test
# Where the second root complex begins; the first has the buses below.
SECOND_BUS = 0x40
FIRMWARE = ("usr/share/qemu", "usr/share/seabios")
# Before all that it translates for. The kernel's own drivers go past it (pt), which costs nothing.
IOMMU = "intel-iommu,intremap=on"
IOMMU_ON = "intel_iommu=on iommu=pt"
MACS = ("02:00:00:00:c0:00", "02:00:00:00:c1:00")


@dataclass(frozen=True, slots=True)
class GuestMachine:
    """A kernel, and the hardware that it boots on."""

    kernel: GuestKernel
    hardware: Hardware


def fetch_machine(modules: Sequence[str], progress: Progress) -> GuestMachine:
    """Return the machine with these modules in its kernel, unpacked now if need be."""
    pins = load_guest_pins()
    target = cache_root().parent / f"guest-{pins.key}"
    if not target.is_dir():
        with only_one_builder("guest"):
            if not target.is_dir():
                with progress.step(f"fetch a guest from {pins.suite}"), staged(target) as directory:
                    _fetch(pins, directory)
    found = {path.stem: path for path in (target / "modules").glob("*.ko")}
    if lacking := [name for name in modules if name not in found]:
        raise BootError(f"{pins.kernel} has no module {', '.join(lacking)}")
    order = tuple(found[name] for name in load_order(modules, found))
    return GuestMachine(GuestKernel(target, order), cards_of(target))


def cards_of(directory: Path) -> Hardware:
    """Describe the machine above to the emulator that is unpacked in a directory."""
    memory = [f"memory-backend-ram,id=m{node},size={NODE_MIB}M" for node in range(NUMA_NODES)]
    nodes = ["node,nodeid=0,cpus=0,memdev=m0", "node,nodeid=1,memdev=m1"]
    second = f"pxb-pcie,id=pcie.1,bus=pcie.0,bus_nr={SECOND_BUS},numa_node=1"
    first = "pxb-pcie,id=pcie.2,bus=pcie.0,bus_nr=32,numa_node=0"
    ports = ["pcie-root-port,id=rp0,bus=pcie.2,slot=1", "pcie-root-port,id=rp1,bus=pcie.1,slot=2"]
    nets = [f"hubport,id=n{card},hubid=0" for card in range(len(MACS))]
    cards = [f"igb,netdev=n{card},mac={mac},bus=rp{card}" for card, mac in enumerate(MACS)]
    options = [
        *(("-object", each) for each in memory),
        *(("-numa", each) for each in nodes),
        *(("-netdev", each) for each in nets),
        *(("-device", each) for each in (IOMMU, first, second, *ports, *cards)),
    ]
    return Hardware(
        emulator=(
            str(directory / QEMU),
            *(text for each in FIRMWARE for text in ("-L", str(directory / each))),
        ),
        options=("-machine", "q35", *(text for option in options for text in option)),
        memory_mib=NUMA_NODES * NODE_MIB,
        bus="pcie.0",
        kernel_options=IOMMU_ON,
    )


def _fetch(pins: GuestPins, directory: Path) -> None:
    for name, package in download(pins, directory).items():
        if name == pins.kernel:
            _unpack_kernel(package, directory)
            (directory / RELEASE).write_text(f"{name} {pins.packages[name].version}\n")
        else:
            _unpack_emulator(package, directory)
        package.unlink()


def _unpack_kernel(package: Path, directory: Path) -> None:
    modules = directory / "modules"
    modules.mkdir()

    def wanted(path: PurePosixPath) -> bool:
        return path.name.startswith(KERNEL) or path.name.endswith((".ko", ".ko.xz"))

    for path, content in files_of(package, wanted):
        if path.name.startswith(KERNEL):
            (directory / KERNEL).write_bytes(content)
        else:
            (modules / f"{plain_name(path.name.partition('.')[0])}.ko").write_bytes(content)


def _unpack_emulator(package: Path, directory: Path) -> None:
    def wanted(path: PurePosixPath) -> bool:
        return path.name == QEMU or str(path.parent) in FIRMWARE

    for path, content in files_of(package, wanted):
        file = directory / (path.name if path.name == QEMU else path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755)
