"""What is really there on the node: in pods' namespaces, on the disk, among processes.

Nothing here asks the driver or the runtime: a look into a pod is a look into the network namespace
of its container's own process. Every look may come too late for a process that is gone; then there
is nothing to see.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.manifests import STARTS_DIR
from faults.site import Site
from lab.drivers.driver import DEFAULT_DRIVER

__all__ = [
    "Interface",
    "Start",
    "Traces",
    "container_pid",
    "interfaces_of",
    "journal_rows",
    "leases",
    "pings",
    "starts",
    "traces",
]

METADATA = f"/var/lib/kubelet/plugins/{DEFAULT_DRIVER}/metadata"
TASKS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io"
LIST_ROWS = """
import pathlib, sqlite3, sys
tables = {
    "bookings": "claim_uid", "leases": "claim_uid || ' ' || sandbox_id", "reports": "claim_uid"
}
if pathlib.Path(sys.argv[1]).exists():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, timeout=10)
    for table, key in tables.items():
        for (row,) in db.execute(f"select {key} from {table}"):
            print(table, row)
"""
OUR_INTERFACES = {"net1", "net2"}


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface in a pod."""

    name: str
    mac: str
    addresses: frozenset[str]  # IPv4, with prefix


@dataclass(frozen=True, slots=True)
class Start:
    """What a container saw: START, MISSING, FOUND or LOST, of an interface, at a time."""

    pod: str
    word: str
    interface: str
    at_s: int


@dataclass(frozen=True, slots=True)
class Traces:
    """What could be left over: ours by kind, and the runtime's."""

    ours: Mapping[str, frozenset[str]]
    runtimes: Mapping[str, frozenset[str]]

    def beyond(self, before: "Traces") -> tuple[list[str], list[str]]:
        """Return what exists now and did not then, ours and the runtime's."""
        return _beyond(self.ours, before.ours), _beyond(self.runtimes, before.runtimes)


def _beyond(now: Mapping[str, frozenset[str]], then: Mapping[str, frozenset[str]]) -> list[str]:
    return [f"{kind} {one}" for kind, all_ in now.items() for one in sorted(all_ - then[kind])]


def container_pid(site: Site, pod: Mapping[str, Any]) -> int | None:
    """Return the pid inside the node of a pod's container; None if it does not run."""
    for status in pod["status"].get("containerStatuses", []):
        container = status.get("containerID", "").rpartition("/")[2]
        if container and "running" in status["state"]:
            try:
                pid = int(site.path(f"{TASKS}/{container}/init.pid").read_text())
            except (OSError, ValueError):
                return None
            return pid if site.path(f"/proc/{pid}").exists() else None
    return None


def interfaces_of(site: Site, pid: int) -> dict[str, Interface]:
    """Return the interfaces in the network namespace of a process of the node."""
    return _interfaces(site.path(f"/proc/{pid}/ns/net"))


def _interfaces(namespace: Path) -> dict[str, Interface]:
    done = subprocess.run(
        ["nsenter", f"--net={namespace}", "ip", "-json", "addr"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = {}
    for link in json.loads(done.stdout or "[]"):
        addresses = frozenset(
            f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"] if a["family"] == "inet"
        )
        found[link["ifname"]] = Interface(link["ifname"], link.get("address", ""), addresses)
    return found


def pings(site: Site, pid: int, interface: str, address: str) -> bool:
    """Whether an address answers to a process of the node over an interface."""
    command = ["nsenter", f"--net={site.path(f'/proc/{pid}/ns/net')}", "busybox", "ping"]
    command += ["-c", "2", "-W", "2", "-I", interface, address]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def starts(site: Site, burst: str) -> list[Start]:
    """Return what the containers of a burst saw, in the order of each one's own looks."""
    seen = []
    for file in sorted(site.path(STARTS_DIR).glob(f"{burst}-*")):
        for line in file.read_text().splitlines():
            word, interface, at_s = line.split()
            seen.append(Start(file.name, word, interface, int(at_s)))
    return seen


def leases(site: Site) -> dict[str, str]:
    """Return the container ids that hold addresses, by network and address."""
    held = {}
    for file in site.path("/var/lib/cni/netclaim").glob("*/*/*/leases/*/*"):
        if file.name[0].isdigit():
            held[f"{file.parent.name} {file.name}"] = file.read_text(errors="replace")
    return held


def traces(site: Site) -> Traces:
    """Return everything that a pod, or the driver, could leave behind on the node."""
    namespaces = site.namespaces()
    root = site.path("/run/netns")
    with_ours = {name for name in namespaces if _has_ours(root / name)}
    links = json.loads(site.run("ip", "-json", "link"))
    names = {link["ifname"] for link in links}
    veths = {name for name in names if name.startswith("veth")}
    processes = set(site.processes().values())
    shims = {each for each in processes if each.startswith(("containerd-shim", "pause"))}
    state = site.state_path()
    return Traces(
        ours={
            "journal row": frozenset(journal_rows(site)),
            "address": frozenset(leases(site)),
            "result in the CNI cache": _files(state / "cni"),
            "lent device": _files(state / "lent"),
            "CDI file": _files(site.path("/run/cdi")),
            "metadata file": _files(site.path(METADATA)),
            "link": frozenset(names - veths),
            "qdisc": frozenset(_qdiscs(site)),
            "namespace with our interface": frozenset(with_ours),
            "mount": frozenset(m for m in _mounts(site) if "netclaim" in m),
            "process": frozenset(p for p in processes - shims if "cni/bin" in p or "moody" in p),
        },
        runtimes={
            "namespace": frozenset(namespaces - with_ours),
            "link": frozenset(veths),
            "process": frozenset(shims),
            "mount": frozenset(m for m in _mounts(site) if "netclaim" not in m),
            "address": _files(site.path("/var/lib/cni/networks")),
        },
    )


def journal_rows(site: Site) -> list[str]:
    """Return the rows of the driver's journal, each as a text.

    Read inside the node: from outside its path begins with a link of /proc, which SQLite follows by
    its text, to the machine's own file of that name.
    """
    return site.run(site.lab.python, "-c", LIST_ROWS, str(site.journal)).splitlines()


def _has_ours(namespace: Path) -> bool:
    return bool(OUR_INTERFACES & _interfaces(namespace).keys())


def _files(directory: Path) -> frozenset[str]:
    kept = ("last_reserved_ip", "lock")  # of host-local, for as long as the network has a name
    found = (path for path in directory.rglob("*") if path.is_file())
    return frozenset(
        str(path.relative_to(directory)) for path in found if not path.name.startswith(kept)
    )


def _qdiscs(site: Site) -> list[str]:
    listed = json.loads(site.run("tc", "-json", "qdisc") or "[]")
    return [f"{q['kind']} on {q['dev']}" for q in listed if not q["dev"].startswith("veth")]


def _mounts(site: Site) -> list[str]:
    lines = site.path("/proc/1/mountinfo").read_text().splitlines()
    return [line.split()[4] for line in lines]
