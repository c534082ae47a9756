"""A driver follows its file of settings: what it offers changes with it, in a whole cluster."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from netclaim.local.cluster import EmbeddedCluster, embedded_cluster
from netclaim.local.input.topology_file import load_topology
from netclaim.local.machine import contained
from netclaim.local.topology import DEFAULT_TOPOLOGY
from netclaim.schema.kinds import SLICE

pytestmark = pytest.mark.embedded

DRIVER = "cni.dra.networking.x-k8s.io"
NO_ETH1 = f"""\
linkFilter: |
  device.attributes["{DRIVER}"].name != "eth1"
"""
ONLY_ON_WORKER2 = """\
linkFilter: node.labels["kubernetes.io/hostname"] == "kind-worker2"
"""
LOOK_S = 0.1


class ConfigMap:
    """A ConfigMap as kubelet mounts it: files that are links into a directory, which is swapped."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._version = 0
        self.file = directory / "config.yaml"

    def put(self, text: str) -> None:
        """Put this into the file."""
        self._version += 1
        version = self._directory / f"..{self._version}"
        version.mkdir()
        (version / self.file.name).write_text(text)
        new = self._directory / "..data_tmp"
        new.symlink_to(version.name)
        new.rename(self._directory / "..data")
        if not self.file.is_symlink():
            self.file.symlink_to(f"..data/{self.file.name}")


def offered(cluster: EmbeddedCluster) -> dict[str, set[str]]:
    """The devices that each node offers."""
    return {
        each["spec"]["nodeName"]: {device["name"] for device in each["spec"].get("devices", ())}
        for each in cluster.store.list(SLICE)
    }


async def logged(cluster: EmbeddedCluster, words: str) -> None:
    """Return once the driver of the first node has logged this."""
    log = cluster.nodes[0].place.directory / f"{DRIVER}.log"
    while words not in log.read_text():  # noqa: ASYNC110 - a file tells nobody of its changes
        await asyncio.sleep(LOOK_S)


def in_cluster(config: ConfigMap, scenario: Callable[[EmbeddedCluster], Awaitable[None]]) -> None:
    """Run a scenario in a cluster whose drivers have the file, in a process of its own."""

    async def whole() -> int:
        topology = load_topology(DEFAULT_TOPOLOGY)
        flags = [f"--config={config.file}"]
        async with embedded_cluster(topology, [DRIVER], driver_flags=flags) as cluster:
            await scenario(cluster)
        return 0

    assert contained(lambda: asyncio.run(whole())) == 0


def test_a_changed_file_is_followed(tmp_path: Path) -> None:
    """What the filter hides is withdrawn and comes back; a mistake changes nothing."""
    config = ConfigMap(tmp_path)
    config.put(NO_ETH1)

    async def scenario(cluster: EmbeddedCluster) -> None:
        wanted = {"kind-control-plane": {"cni", "eth0"}, "kind-worker": {"cni", "eth0"}}
        wanted["kind-worker2"] = {"cni", "eth0"}
        await cluster.store.wait_for(lambda: offered(cluster) == wanted)
        config.put(ONLY_ON_WORKER2)
        wanted |= {"kind-control-plane": {"cni"}, "kind-worker": {"cni"}}
        await cluster.store.wait_for(lambda: offered(cluster) == wanted)
        config.put("linkFilter: node.lables.x\n")
        await logged(cluster, "linkFilter: 1:5: undefined field 'lables'")
        assert offered(cluster) == wanted
        config.put("nriIndex: '60'\n")
        await logged(cluster, "settings.restart_needed")
        wanted |= {"kind-control-plane": {"cni", "eth0"}, "kind-worker": {"cni", "eth0", "eth1"}}
        await cluster.store.wait_for(lambda: offered(cluster) == wanted)

    in_cluster(config, scenario)
