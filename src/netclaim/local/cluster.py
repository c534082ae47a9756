"""The embedded cluster put together: API server, control plane, and each node with its driver.

Promise: it is ready when it is lent: every driver is registered with its kubelet and has published
its node's links. Everything runs below one task group and ends with it. To be used inside
namespaces of its own, see `netclaim.local.machine`.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from netclaim.controller.process.run import Controller
from netclaim.controller.settings import ControllerSettings
from netclaim.errors import PeerError
from netclaim.kernel import Netns
from netclaim.kube import Client, connect, load_cluster
from netclaim.local.api import Store, Verbs, serve_api
from netclaim.local.control import control
from netclaim.local.machine import (
    NodePlace,
    add_netns,
    borrowed_links,
    build_world,
    wire_cluster,
)
from netclaim.local.networks_there import has_networks
from netclaim.local.node.driver_process import (
    DriverOptions,
    ProgramOptions,
    driver_process,
    last_words,
)
from netclaim.local.node.drivers import Drivers
from netclaim.local.node.kubelet import Kubelet, Pace
from netclaim.local.node.sandboxes import Sandboxes
from netclaim.local.not_ready import not_ready
from netclaim.local.topology import Link, Topology
from netclaim.model.claims.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.network.policy.levels import Level
from netclaim.nri import Runtime, RuntimeSettings, listening
from netclaim.schema.kinds import NAMESPACE, NODE, SLICE
from netclaim.schema.rules.claims import ADMIN_LABEL

API_PORT: Final = 8001  # as for `kubectl proxy`; the cluster's own namespace has no other server
KUBECONFIG: Final = Path("/run/kubeconfig")
ADMIN: Final = "netclaim"
START_S: Final = 30.0  # drivers need about two seconds; a machine that needs more is in trouble
# Claims may ask for devices that others have, since the user of this is the cluster's admin.
ADMIN_ACCESS: Final = {ADMIN_LABEL: "true"}


class SlowStartError(PeerError):
    """The cluster was not ready in time."""


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node: the paths of its files, its namespace, and its parts."""

    place: NodePlace
    netns: Netns
    pod_subnets: tuple[str, ...]
    runtime: Runtime
    drivers: Drivers
    sandboxes: Sandboxes
    kubelet: Kubelet


@dataclass(frozen=True, slots=True)
class EmbeddedCluster:
    topology: Topology
    verbs: Verbs
    url: str
    nodes: tuple[ClusterNode, ...]
    driver_names: tuple[str, ...]
    programs: tuple[str, ...]  # the names of drivers beside netclaim's own
    policy: Level
    host_pid: int  # of process 1, as the rest of the machine sees it

    @property
    def store(self) -> Store:
        return self.verbs.store

    def netns_of(self, pod_uid: str) -> str:
        """Return the path of a pod's network namespace; empty if it has none."""
        found = (node.sandboxes.running.get(pod_uid) for node in self.nodes)
        return next((sandbox.netns or "" for sandbox in found if sandbox is not None), "")

    def add_namespace(self, name: str) -> None:
        """Make a namespace that may do everything. A second call does nothing."""
        if self.store.get(NAMESPACE, name) is None:
            body: JsonObject = {"metadata": {"name": name, "labels": ADMIN_ACCESS}}
            self.verbs.create(NAMESPACE, {**_head(NAMESPACE.name), **body}, manager=ADMIN)

    def has_networks(self) -> bool:
        """Whether the controller and the drivers have made what the PodNetworks there are need."""
        return has_networks(self.store)

    async def wait_ready(self) -> None:
        """Return once every driver is registered and has published its node's devices."""
        for node in self.nodes:
            for name in (*self.driver_names, *self.programs):
                await node.drivers.wait_registered(name)
        await self.store.wait_for(self._all_published)

    def not_ready(self) -> str:
        """Say which drivers are not ready, where, and what they logged last."""
        nodes = {node.place.name: node for node in self.nodes}
        published = self._published()
        return not_ready(
            (*self.driver_names, *self.programs),
            list(nodes),
            registered=lambda driver, node: nodes[node].drivers.is_registered(driver),
            published=lambda driver, node: (driver, node) in published,
            last_words=lambda driver, node: last_words(_log(nodes[node], driver)),
        )

    def _all_published(self) -> bool:
        names = (*self.driver_names, *self.programs)
        wanted = {(name, node) for name in names for node in self.topology.nodes}
        return wanted <= self._published()

    def _published(self) -> set[tuple[str, str]]:
        """The drivers that have slices, each with the node."""
        slices = (found["spec"] for found in self.store.list(SLICE))
        return {(spec["driver"], spec.get("nodeName", "")) for spec in slices}


@asynccontextmanager
async def embedded_cluster(
    topology: Topology,
    driver_names: Sequence[str],
    *,
    cni_bin_dirs: Sequence[Path] = (),
    driver_flags: Sequence[str] = (),
    programs: Mapping[str, Sequence[str]] | None = None,
    policy: Level = Level.BASELINE,
    pace: Pace | None = None,
    machine: Netns | None = None,
    start_s: float = START_S,
) -> AsyncIterator[EmbeddedCluster]:
    """Lend a cluster that is ready. The calling process must be alone in its namespaces.

    `programs` are the command lines of other drivers, by their names. `policy` is the policy level
    that results from the drivers' flags and file. `machine` is the namespace of the links that the
    topology borrows.
    """
    others = dict(programs or {})
    drivers: list[DriverOptions | ProgramOptions] = [
        DriverOptions(name, KUBECONFIG, tuple(cni_bin_dirs), tuple(driver_flags))
        for name in driver_names
    ]
    drivers += [ProgramOptions(name, KUBECONFIG, tuple(line)) for name, line in others.items()]
    host_pid = build_world()
    verbs = Verbs(Store())
    with ExitStack() as closing:
        nodes = [
            _node(topology, number, verbs, pace or Pace(), closing)
            for number in range(len(topology.nodes))
        ]
        netns = {node.place.name: node.netns for node in nodes}
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(borrowed_links(topology.borrowed, machine, netns))
            await wire_cluster(topology, netns)
            url = await stack.enter_async_context(serve_api(verbs, topology.gateway, API_PORT))
            cluster = EmbeddedCluster(
                topology,
                verbs,
                url,
                tuple(nodes),
                tuple(driver_names),
                tuple(others),
                policy,
                host_pid,
            )
            cluster.add_namespace("default")
            _register_nodes(cluster)
            _write_kubeconfig(url)
            # Before the tasks, so that it is closed when the last of them has ended.
            client = await stack.enter_async_context(connect(load_cluster(str(KUBECONFIG))))
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            running = [tasks.create_task(control(verbs))]
            running.append(tasks.create_task(_run_controller(client, driver_names)))
            for node in nodes:
                listener = stack.enter_context(listening(node.place.nri_socket))
                running.append(tasks.create_task(node.runtime.serve(listener)))
                running.append(tasks.create_task(node.kubelet.run()))
                links = topology.all_links(node.place.name)
                running += [
                    tasks.create_task(_run_driver(node, options, links)) for options in drivers
                ]
            try:
                async with asyncio.timeout(start_s):
                    await cluster.wait_ready()
            except TimeoutError as error:
                said = f"the drivers were not ready after {start_s:g} s: {cluster.not_ready()}"
                raise SlowStartError(said) from error
            yield cluster
            for task in running:
                task.cancel()


def _node(
    topology: Topology, number: int, verbs: Verbs, pace: Pace, closing: ExitStack
) -> ClusterNode:
    name = topology.nodes[number]
    place = NodePlace(name, number)
    place.make()
    netns = closing.enter_context(add_netns(place.netns))
    subnets = topology.pod_subnets(name)
    runtime = Runtime(RuntimeSettings())
    drivers = Drivers(place.kubelet_dir / "plugins_registry")
    sandboxes = Sandboxes(runtime, netns, subnets)
    kubelet = Kubelet(name, verbs, drivers, sandboxes, pace=pace)
    return ClusterNode(place, netns, subnets, runtime, drivers, sandboxes, kubelet)


async def _run_controller(client: Client, driver_names: Sequence[str]) -> None:
    """Run the controller for the first of the drivers, for which the others are stand-ins."""
    settings = ControllerSettings(next(iter(driver_names), DRIVER_NAME))
    await (await Controller.of(client, settings)).run()


def _log(node: ClusterNode, driver: str) -> Path:
    return node.place.directory / f"{driver}.log"


async def _run_driver(
    node: ClusterNode, options: DriverOptions | ProgramOptions, links: Sequence[Link]
) -> None:
    command = options.command(node.place, node.pod_subnets)
    async with driver_process(node.place, command, _log(node, options.name), links):
        await asyncio.Event().wait()  # until cancelled


def _register_nodes(cluster: EmbeddedCluster) -> None:
    for node in cluster.nodes:
        name = node.place.name
        labels = {"kubernetes.io/hostname": name, **cluster.topology.labels.get(name, {})}
        addresses = cluster.topology.addresses(name)
        body: JsonObject = {
            **_head(NODE.name),
            "metadata": {"name": name, "labels": labels},
            "spec": {"podCIDR": node.pod_subnets[0], "podCIDRs": list(node.pod_subnets)},
            "status": {
                "addresses": [{"type": "InternalIP", "address": one} for one in addresses],
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        cluster.verbs.create(NODE, body, manager=ADMIN)


def _head(kind: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": kind}


def _write_kubeconfig(url: str) -> None:
    config = {
        **_head("Config"),
        "clusters": [{"name": "netclaim", "cluster": {"server": url}}],
        "users": [{"name": "netclaim", "user": {}}],
        "contexts": [{"name": "netclaim", "context": {"cluster": "netclaim", "user": "netclaim"}}],
        "current-context": "netclaim",
    }
    KUBECONFIG.write_bytes(msgspec.json.encode(config))
