"""What the archive has of a node: the driver's answers, network lists, links, journal, settings.

Of the runtime's and kubelet's configuration, only the settings that matter here are kept: both may
hold credentials, and nobody needs the rest.
"""

import asyncio
import platform
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from netclaim.chained.files import conf_files
from netclaim.doctor.node.sight import NodeSight
from netclaim.doctor.support.gathered import Gathered
from netclaim.framework.journal.read_only import peek
from netclaim.framework.settings.fields import local_address
from netclaim.kernel import Rtnl, list_addresses, list_links, list_routes
from netclaim.manifests.text.documents import read_documents

CRI_SETTINGS: Final = ("cni", "enableCDI", "cdiSpecDirs", "containerdRootDir", "stateDir",
                       "netnsMountsUnderStateDir")  # fmt: skip
KUBELET_SETTINGS: Final = ("featureGates", "cgroupDriver", "containerRuntimeEndpoint", "maxPods",
                           "healthzPort", "healthzBindAddress", "nodeStatusUpdateFrequency",
                           "syncFrequency", "podCIDR", "failSwapOn")  # fmt: skip
MOUNTS: Final = ("/run", "/var/run", "/var/lib/kubelet", "/var/lib/cni", "/etc/cni", "/opt/cni")
OF_PODS: Final = ("/var/lib/kubelet/pods/", "/run/containerd/")  # many, and nobody's business


async def gather_node(node: NodeSight, gathered: Gathered) -> None:
    """Gather everything of this node that may be read."""

    async def put(
        name: str,
        about: str,
        read: Callable[[NodeSight], Awaitable[Any]],
        *,
        parameters: bool = False,
    ) -> None:
        await gathered.read_object(
            f"node/{name}.json", about, lambda: read(node), parameters=parameters
        )

    await put("system", "kernel, distribution and the mounts that matter", _system)
    with gathered.attempt("node/driver"):
        for path in ("/healthz", "/readyz", "/metrics"):
            answer = await node.get(local_address(node.settings.http_address), path)
            text = f"{answer.status}\n{answer.text}\n" if answer else "no answer\n"
            gathered.put_text(f"node{path}.txt", f"the driver's answer to {path}", text)
    with gathered.attempt("node/network-lists"):
        for file in await asyncio.to_thread(conf_files, node.settings.cni_conf_dir):
            name, about = f"node/cni/{file.name}", "a network list of the runtime"
            with gathered.attempt(name):
                found = msgspec.json.decode(await asyncio.to_thread(file.read_bytes))
                gathered.put_object(name, about, found, parameters=True)
    await put("runtime", "the runtime's version, pods and settings", _runtime)
    await put("kubelet", "some of kubelet's settings", _kubelet)
    await put("links", "the node's links, addresses and routes", _links)
    about = "the driver's journal: claims and attachments"
    await put("journal", about, _journal, parameters=True)
    await put("directories", "what is where, without contents", _directories)


async def _system(node: NodeSight) -> Mapping[str, Any]:
    mounts = (node.proc / "self/mountinfo").read_text().splitlines()
    return {
        "uname": platform.uname()._asdict(),
        "python": platform.python_version(),
        "osRelease": platform.freedesktop_os_release(),
        "mounts": [
            line
            for line in mounts
            if line.split()[4].startswith(MOUNTS) and not line.split()[4].startswith(OF_PODS)
        ],
    }


async def _runtime(node: NodeSight) -> Mapping[str, Any]:
    version = await node.cri.version()
    config = await node.cri_config()
    file = node.runtime_config()
    return {
        "version": msgspec.to_builtins(version),
        "sandboxes": [msgspec.to_builtins(each) for each in await node.cri.list()],
        "cri": {key: config[key] for key in CRI_SETTINGS if key in config},
        "nri": file.nri if file else None,
    }


async def _kubelet(node: NodeSight) -> Mapping[str, Any]:
    path = node.settings.kubelet_dir / "config.yaml"
    (document, *_) = read_documents(path.read_text(), str(path))
    settings: Mapping[str, Any] = document.data()
    return {key: settings[key] for key in KUBELET_SETTINGS if key in settings}


async def _links(_node: NodeSight) -> Any:
    with Rtnl.open() as rtnl:
        found = {
            "links": await list_links(rtnl),
            "addresses": await list_addresses(rtnl),
            "routes": await list_routes(rtnl),
        }
    return msgspec.to_builtins(found)


async def _journal(node: NodeSight) -> Any:
    return msgspec.to_builtins(await asyncio.to_thread(peek, node.journal))


async def _directories(node: NodeSight) -> Mapping[str, Any]:
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
    return {str(place): await asyncio.to_thread(_names, place) for place in places}


def _names(place: Path) -> list[str] | str:
    try:
        return sorted(each.name for each in place.iterdir())
    except OSError as error:
        return str(error.strerror)
