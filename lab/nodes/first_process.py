"""Process 1 of a lab node: makes the node's world, says so, and becomes `pause`.

Run as the first process of a new PID namespace. Without a disk it only takes a network namespace of
its own (the lab's wiring closet). With one it takes mount and host-name namespaces as well, and
arranges the file system so that every standard path means this node's own:

- /etc and /opt: the machine's, with the node's changes on its own disk (overlay)
- /var: the node's own disk
- /run: memory, lost at reboot
- /sys: shows the node's links, with the machine's control groups
- /proc: the node's processes, a boot id of its own, and stand-ins for the kernel settings that
  kubelet would otherwise change for the whole machine

Nothing of it is seen outside: the mounts end with the namespace.
"""

import argparse
import os
import socket
import uuid
from pathlib import Path

from lab.nodes.linux import (
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWUTS,
    MS_BIND,
    MS_PRIVATE,
    MS_REC,
    MS_SHARED,
    mount,
    umount,
    unshare,
)

__all__: list[str] = []

KEPT_CGROUPS = "/run/cgroup"  # where the machine's control groups wait while /sys is replaced
RUN_DIRECTORIES = ("netns", "nri", "containerd", "lock", "cni", "cdi", "kubelet")
WANTED_BY_KUBELET = {  # it writes them where they differ, and they are the whole machine's
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def build_world(name: str, disk: Path) -> None:
    """Give this process, and all that enter it, the node's own view of the machine."""
    unshare(CLONE_NEWNS | CLONE_NEWUTS)
    socket.sethostname(name)
    mount("none", "/", flags=MS_REC | MS_PRIVATE)  # from here on nothing reaches the machine
    for top in ("etc", "opt"):
        _overlay(disk, top)
    mount(str(disk / "var"), "/var", flags=MS_BIND)  # last: it hides the disks themselves
    mount("tmpfs", "/run", "tmpfs", options="mode=755")
    for directory in RUN_DIRECTORIES:
        Path("/run", directory).mkdir()
    _renew_sys()
    _renew_proc()
    mount("none", "/", flags=MS_REC | MS_SHARED)  # kubelet's volumes reach the pods by this


def _overlay(disk: Path, top: str) -> None:
    upper, work = disk / top, disk / f"{top}.work"
    for part in (upper, work):
        part.mkdir(parents=True, exist_ok=True)
    options = f"lowerdir=/{top},upperdir={upper},workdir={work}"
    mount("overlay", f"/{top}", "overlay", options=options)


def _renew_sys() -> None:
    Path(KEPT_CGROUPS).mkdir()
    mount("/sys/fs/cgroup", KEPT_CGROUPS, flags=MS_BIND | MS_REC)
    mount("sysfs", "/sys", "sysfs")
    mount(KEPT_CGROUPS, "/sys/fs/cgroup", flags=MS_BIND | MS_REC)
    umount(KEPT_CGROUPS)
    Path(KEPT_CGROUPS).rmdir()


def _renew_proc() -> None:
    mount("proc", "/proc", "proc")
    stand_ins = {**WANTED_BY_KUBELET, "kernel/random/boot_id": str(uuid.uuid4())}
    for setting, value in stand_ins.items():
        stand_in = Path("/run/sysctl", setting)
        stand_in.parent.mkdir(parents=True, exist_ok=True)
        stand_in.write_text(f"{value}\n")
        mount(str(stand_in), f"/proc/sys/{setting}", flags=MS_BIND)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")  # pods of other nodes come through here


def main() -> None:
    """Build the world, close the descriptor that the lab waits on, become the init program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--disk", type=Path)
    parser.add_argument("--ready", required=True, type=int)
    parser.add_argument("--init", required=True)
    options = parser.parse_args()
    init = os.open(options.init, os.O_RDONLY | os.O_CLOEXEC)
    unshare(CLONE_NEWNET)
    if options.disk:
        build_world(options.name, options.disk)
    os.write(options.ready, b"ready")
    os.close(options.ready)
    os.execv(f"/proc/self/fd/{init}", ["pause", options.name])


if __name__ == "__main__":
    main()
