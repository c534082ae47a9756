"""`netclaim try`: a user's manifests on an embedded cluster, and what became of their pods.

Promise: everything up to the outcome is done within the trial's time; pods that have not started by
then are reported as still starting.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import structlog

from netclaim.kernel import Netns
from netclaim.local.cluster import START_S, EmbeddedCluster, SlowStartError, embedded_cluster
from netclaim.local.input.manifests import Manifests, create_all, unmade_namespaces
from netclaim.local.result.devices import with_devices
from netclaim.local.result.duplicates import per_node_doubts, with_duplicates
from netclaim.local.result.expected import expected_pods, held_back
from netclaim.local.result.outcome import PodOutcome, outcomes, settled
from netclaim.local.result.services import ServiceOutcome, service_outcomes
from netclaim.local.result.show import Result, as_json, show_result, unschedulable
from netclaim.local.staying_up import wait_for_user
from netclaim.local.topology import Topology
from netclaim.manifests.text.files import raise_faults
from netclaim.manifests.text.yaml_dialect import dump
from netclaim.network import DRIVER_NAME
from netclaim.network.policy.levels import Level
from netclaim.schema.kinds import (
    ADDRESS_POOL,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NAMESPACE,
    POD,
    POD_NETWORK,
    REPLICA_SET,
    STATEFUL_SET,
)
from netclaim.screen import PlainScreen, Screen

LOOK_S: Final = 0.02  # a look at hundreds of pods costs as much; changes come by the thousand
Beside: TypeAlias = Callable[[Screen], AbstractAsyncContextManager[None]]

ALL_WELL: Final = 0
SOME_FAILED: Final = 1
OWNERS: Final = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET, JOB, REPLICA_SET)  # make pods anew
# What the controller makes classes, templates and slices of. A pod that came before them would be
# reported as one that cannot be scheduled.
FIRST: Final = (NAMESPACE.name, ADDRESS_POOL.name, POD_NETWORK.name)


@dataclass(frozen=True, slots=True)
class Trial:
    """What to try, and where."""

    topology: Topology
    manifests: Manifests
    driver_names: tuple[str, ...]
    cni_bin_dirs: tuple[Path, ...] = ()
    driver_flags: tuple[str, ...] = ()
    programs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    policy: Level = Level.BASELINE
    timeout_s: float = 60.0
    keep: bool = False
    json: bool = False  # the outcome as a document
    yaml: bool = False  # the same in YAML
    machine: Netns | None = None  # that has the cards which the topology borrows
    beside: Beside | None = None  # runs beside the pods, and shows on the screen where it is

    def cluster(self) -> AbstractAsyncContextManager[EmbeddedCluster]:
        """Return the cluster to try it on."""
        return embedded_cluster(
            self.topology,
            self.driver_names,
            cni_bin_dirs=self.cni_bin_dirs,
            driver_flags=self.driver_flags,
            programs=self.programs,
            policy=self.policy,
            machine=self.machine,
            start_s=max(START_S, self.timeout_s / 2),  # the pods need time as well
        )


async def run_trial(trial: Trial, screen: Screen) -> int:
    """Run it and show the outcome; returns the exit code. With JSON, stdout has nothing else."""
    quiet_logs()
    until_s = asyncio.get_running_loop().time() + trial.timeout_s
    async with AsyncExitStack() as stack:
        with screen.working("starting the cluster"):
            cluster = await start_cluster(trial, stack, until_s)
        if trial.beside is not None:
            await stack.enter_async_context(trial.beside(screen))
        with screen.working("starting the pods"):
            result = await start_pods(cluster, trial, until_s)
        if trial.json:
            text = as_json(result)
            PlainScreen(sys.stdout).block(dump(json.loads(text)) if trial.yaml else text)
        else:
            show_result(result, screen, keep=trial.keep)
        if trial.keep:
            await wait_for_user(cluster, screen, unschedulable(result))
        if trial.topology.borrowed:
            with screen.working("ending the pods"):
                await end_pods(cluster, trial.timeout_s)
    return ALL_WELL if result.is_well else SOME_FAILED


def quiet_logs() -> None:
    """Silence the parts' logs: what a user needs is in the outcome and in events."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


async def start_cluster(trial: Trial, stack: AsyncExitStack, until_s: float) -> EmbeddedCluster:
    """Start the cluster; SlowStartError if that takes until the trial's time is over."""
    try:
        async with asyncio.timeout_at(until_s):
            return await stack.enter_async_context(trial.cluster())
    except TimeoutError as error:
        message = f"the cluster was not ready after {trial.timeout_s:g} s (--timeout)"
        raise SlowStartError(message) from error


async def start_pods(cluster: EmbeddedCluster, trial: Trial, until_s: float) -> Result:
    """Create everything, and wait until each pod has its interfaces or is known not to."""
    items = trial.manifests.items
    for namespace in sorted(unmade_namespaces(items)):
        cluster.add_namespace(namespace)
    first = [item for item in items if item.kind in FIRST]
    raise_faults([fault.as_error() for fault in create_all(cluster.verbs, first)])
    with suppress(TimeoutError):  # then the pods show what is missing
        async with asyncio.timeout_at(until_s):
            await cluster.store.wait_for(cluster.has_networks)
    rest = [item for item in items if item.kind not in FIRST]
    raise_faults([fault.as_error() for fault in create_all(cluster.verbs, rest)])

    found = _look(cluster)
    try:
        async with asyncio.timeout_at(until_s):
            while not settled(found, expected_pods(cluster.store)):
                await cluster.store.wait_after(cluster.store.revision)
                await asyncio.sleep(LOOK_S)
                found = _look(cluster)
    except TimeoutError:
        found = _look(cluster, over=True)
    services = await _services(cluster, until_s)
    nodes = {node.place.name: (node.place, node.kubelet.claims) for node in cluster.nodes}
    found = with_devices(found, cluster.store, nodes, cluster.programs)
    found = with_duplicates(found, cluster.store, cluster.topology, cluster.driver_names)
    doubts = per_node_doubts(found, cluster.store, cluster.topology, cluster.driver_names)
    uncreated = max(0, expected_pods(cluster.store) - len(found))
    return Result(found, uncreated, trial.timeout_s, services, doubts)


async def end_pods(cluster: EmbeddedCluster, timeout_s: float) -> None:
    """End all pods, so that cards of the machine which they have come home as they were."""
    for kind in (*OWNERS, POD):
        for each in list(cluster.store.list(kind)):
            meta = each["metadata"]
            cluster.verbs.delete(kind, meta["name"], meta["namespace"])
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await cluster.store.wait_for(lambda: not any(cluster.store.list(POD)))


async def _services(cluster: EmbeddedCluster, until_s: float) -> tuple[ServiceOutcome, ...]:
    """Wait until the Services of networks have the endpoints that they should have."""
    driver = next(iter(cluster.driver_names), DRIVER_NAME)
    found = service_outcomes(cluster.store, driver)
    with suppress(TimeoutError):
        async with asyncio.timeout_at(until_s):
            while not all(each.settled for each in found):
                await cluster.store.wait_after(cluster.store.revision)
                await asyncio.sleep(LOOK_S)
                found = service_outcomes(cluster.store, driver)
    return found


def _look(cluster: EmbeddedCluster, *, over: bool = False) -> tuple[PodOutcome, ...]:
    found = outcomes(cluster.store, cluster.driver_names)
    return (*found, *held_back(cluster.store, found, over=over))
