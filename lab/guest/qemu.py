"""A virtual machine that runs one command of this checkout under another kernel.

    kernel + initramfs (busybox, modules)  →  this machine's own files, read-only  →  the command

The guest has this machine's root as its own (over 9p, which cannot write), with fresh /proc, /sys,
/dev, /run and /tmp; so the command finds the same interpreter, packages, tests and programs under
the same paths. What it prints comes back line by line; complaints of the kernel and the command go
to a log.

Promise: the machine is gone when the block ends, however it ends, or this process; it has no
network and writes nothing outside its scratch directory.
Limit: software emulation, some ten times slower than this machine. One processor.
"""

import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.errors import UsageError
from lab.guest.initramfs import archive
from lab.guest.kernel import GuestKernel

__all__ = ["QEMU", "ROOT_MODULES", "Guest", "Hardware", "booted", "find_emulator"]

QEMU = "qemu-system-x86_64"
# What it takes to see this machine's files; the command's own modules come on top.
ROOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p")
MEMORY_MIB = 768  # a Python with a few packages, and programs of 10 MiB that run one at a time
NICENESS = "5"  # an emulator takes what it can get; others on the machine come first
LOG_TAIL_LINES = 25  # a Python traceback, or the kernel's last words

INIT = """#!/bin/busybox sh
set -e
alias b=/bin/busybox
b mount -t devtmpfs dev /dev
b mount -t proc proc /proc
b mount -t sysfs sys /sys
echo guest >/proc/sys/kernel/hostname
for module in {modules}; do b insmod /modules/$module.ko; done
b mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=262144,ro host /host
for each in dev proc sys; do b mount --move /$each /host/$each; done
b mount --bind /host{directory} /checkout
for each in run tmp; do b mount -t tmpfs $each /host/$each; done
b mkdir -p /host{directory} # it may have been below one of these
b mount --move /checkout /host{directory}
exec /bin/busybox switch_root /host /bin/sh -c {command}
"""
COMMAND = """
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp
export PYTHONDONTWRITEBYTECODE=1
cd {directory}
{command} </dev/null >/dev/ttyS1
echo o >/proc/sysrq-trigger
sleep 60
"""


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a guest runs on: by default the installed emulator's plain machine."""

    emulator: tuple[str, ...] = ()  # the program with its own options; empty: the installed one
    options: tuple[str, ...] = ()
    memory_mib: int = MEMORY_MIB
    bus: str = "pci.0"  # where this machine's files are
    kernel_options: str = ""


@dataclass(frozen=True, slots=True)
class Guest:
    """A machine that is running."""

    lines: Iterator[str]  # what the command prints, until it has ended and the machine with it
    log: Path

    def last_words(self) -> str:
        """Return the end of the log with complaints of the kernel and the command."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-LOG_TAIL_LINES:])


def find_emulator() -> str:
    """Return the emulator's path; UsageError if this machine cannot run a guest."""
    if platform.machine() != "x86_64":
        raise UsageError("a guest runs this machine's own programs, which are not x86-64 programs")
    emulator = shutil.which(QEMU)
    if emulator is None:
        raise UsageError(f"missing binary {QEMU}: install the Debian package qemu-system-x86")
    return emulator


@contextmanager
def booted(
    kernel: GuestKernel,
    command: Sequence[str],
    *,
    directory: Path,
    scratch: Path,
    hardware: Hardware | None = None,
) -> Iterator[Guest]:
    """Run `command` in `directory` under `kernel`, for as long as the block takes at most."""
    hardware = hardware or Hardware()
    emulator = hardware.emulator or (find_emulator(),)
    initramfs, log = scratch / "initramfs", scratch / "console.log"
    initramfs.write_bytes(_initramfs(kernel, command, directory))
    machine = [
        *("-accel", "tcg", "-m", str(hardware.memory_mib)),
        *hardware.options,
        *("-nodefaults", "-display", "none"),
        *("-no-reboot", "-serial", f"file:{log}", "-serial", "stdio"),
        *("-kernel", str(kernel.image), "-initrd", str(initramfs)),
        *(
            "-append",
            "console=ttyS0 quiet panic=-1 mitigations=off nokaslr no_timer_check "
            + hardware.kernel_options,
        ),  # a kernel that panics ends the machine
        *("-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"),
        *("-device", f"virtio-9p-pci,fsdev=host,mount_tag=host,bus={hardware.bus}"),
    ]
    with (scratch / "emulator.log").open("wb") as complaints:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "nice", "-n", NICENESS, *emulator, *machine],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
    assert process.stdout is not None
    try:
        yield Guest((line.rstrip("\r\n") for line in process.stdout), log)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _initramfs(kernel: GuestKernel, command: Sequence[str], directory: Path) -> bytes:
    busybox = shutil.which("busybox")
    if busybox is None:
        raise UsageError("missing binary busybox: install the Debian package busybox-static")
    quoted = shlex.quote(str(directory))
    inside = COMMAND.format(directory=quoted, command=shlex.join(command))
    modules = " ".join(path.stem for path in kernel.modules)
    files = {f"modules/{path.name}": path.read_bytes() for path in kernel.modules}
    files["bin/busybox"] = Path(busybox).read_bytes()
    init = INIT.format(modules=modules, directory=quoted, command=shlex.quote(inside))
    files["init"] = init.encode()
    return archive(files, ("dev", "proc", "sys", "host", "checkout"))
