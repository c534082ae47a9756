"""What the archive has of a node: the driver's answers, network lists, links, journal, settings.

Of the runtime's and kubelet's configuration only the settings that matter here: both may hold
credentials, and nobody needs the rest.
"""

import asyncio
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from netclaim.chained.files import conf_files
from netclaim.doctor.node_sight import NodeSight
from netclaim.doctor.support_gather import Gathered
from netclaim.framework.peek import peek
from netclaim.kernel import Rtnl, list_addresses, list_links, list_routes
from netclaim.manifests.documents import read_documents

__all__ = ["gather_node"]

CRI_SETTINGS: Final = ("cni", "enableCDI", "cdiSpecDirs", "containerdRootDir", "stateDir",
                       "netnsMountsUnderStateDir")  # fmt: skip
KUBELET_SETTINGS: Final = ("featureGates", "cgroupDriver", "containerRuntimeEndpoint", "maxPods",
                           "healthzPort", "healthzBindAddress", "nodeStatusUpdateFrequency",
                           "syncFrequency", "podCIDR", "failSwapOn")  # fmt: skip
MOUNTS: Final = ("/run", "/var/run", "/var/lib/kubelet", "/var/lib/cni", "/etc/cni", "/opt/cni")
OF_PODS: Final = ("/var/lib/kubelet/pods/", "/run/containerd/")  # many, and nobody's business


async def gather_node(node: NodeSight, gathered: Gathered) -> None:
    """Gather everything of this node that may be read."""
    parts = {
        "node/system.json": _system,
        "node/driver": _driver,
        "node/network-lists": _network_lists,
        "node/runtime.json": _runtime,
        "node/kubelet.json": _kubelet,
        "node/links.json": _links,
        "node/journal.json": _journal,
        "node/directories.json": _directories,
    }
    for name, gather in parts.items():
        await gathered.attempt(name, lambda gather=gather: gather(node, gathered))  # type: ignore[misc]


async def _system(node: NodeSight, gathered: Gathered) -> None:
    mounts = (node.proc / "self/mountinfo").read_text().splitlines()
    found = {
        "uname": platform.uname()._asdict(),
        "python": platform.python_version(),
        "osRelease": platform.freedesktop_os_release(),
        "mounts": [
            line
            for line in mounts
            if line.split()[4].startswith(MOUNTS) and not line.split()[4].startswith(OF_PODS)
        ],
    }
    gathered.put_object(
        "node/system.json", "kernel, distribution and the mounts that matter", found
    )


async def _driver(node: NodeSight, gathered: Gathered) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        answer = await node.get(node.settings.http_address, path)
        text = f"{answer.status}\n{answer.text}\n" if answer else "no answer\n"
        gathered.put_text(f"node{path}.txt", f"the driver's answer to {path}", text)


async def _network_lists(node: NodeSight, gathered: Gathered) -> None:
    for path in await asyncio.to_thread(conf_files, node.settings.cni_conf_dir):

        async def gather(path: Path = path) -> None:
            found = msgspec.json.decode(await asyncio.to_thread(path.read_bytes))
            about = "a network list of the runtime"
            gathered.put_object(f"node/cni/{path.name}", about, found, parameters=True)

        await gathered.attempt(f"node/cni/{path.name}", gather)


async def _runtime(node: NodeSight, gathered: Gathered) -> None:
    version = await node.cri.version()
    config = await node.cri_config()
    file = node.runtime_config()
    found = {
        "version": msgspec.to_builtins(version),
        "sandboxes": [msgspec.to_builtins(each) for each in await node.cri.list()],
        "cri": {key: config[key] for key in CRI_SETTINGS if key in config},
        "nri": file.nri if file else None,
    }
    gathered.put_object("node/runtime.json", "the runtime's version, pods and settings", found)


async def _kubelet(node: NodeSight, gathered: Gathered) -> None:
    path = node.settings.kubelet_dir / "config.yaml"
    (document, *_) = read_documents(path.read_text(), str(path))
    settings: Mapping[str, Any] = document.data()
    found = {key: settings[key] for key in KUBELET_SETTINGS if key in settings}
    gathered.put_object("node/kubelet.json", "some of kubelet's settings", found)


async def _links(_node: NodeSight, gathered: Gathered) -> None:
    with Rtnl.open() as rtnl:
        found = {
            "links": await list_links(rtnl),
            "addresses": await list_addresses(rtnl),
            "routes": await list_routes(rtnl),
        }
    gathered.put_object(
        "node/links.json", "the node's links, addresses and routes", msgspec.to_builtins(found)
    )


async def _journal(node: NodeSight, gathered: Gathered) -> None:
    rows = msgspec.to_builtins(await asyncio.to_thread(peek, node.journal))
    about = "the driver's journal: claims and attachments"
    gathered.put_object("node/journal.json", about, rows, parameters=True)


async def _directories(node: NodeSight, gathered: Gathered) -> None:
    places = (
        node.settings.kubelet_dir / "plugins_registry",
        node.places.program.parent,
        node.settings.run_dir / node.driver,
        node.settings.state_dir / node.driver,
        node.settings.cni_program_dir,
        node.settings.cdi_dir,
        node.settings.nri_socket.parent,
        *node.cni_path,
    )
    found = {str(place): await asyncio.to_thread(_names, place) for place in places}
    gathered.put_object("node/directories.json", "what is where, without contents", found)


def _names(place: Path) -> list[str] | str:
    try:
        return sorted(each.name for each in place.iterdir())
    except OSError as error:
        return str(error.strerror)
