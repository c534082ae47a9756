"""`netclaim try`: a user's manifests on an embedded cluster, and what became of their pods."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from netclaim.local.cluster import EmbeddedCluster, embedded_cluster
from netclaim.local.expected import expected_pods, held_back
from netclaim.local.hints import wait_for_user
from netclaim.local.manifests import Manifests, create_all, unmade_namespaces
from netclaim.local.outcome import PodOutcome, outcomes, settled
from netclaim.local.topology import Topology
from netclaim.manifests.files import raise_faults
from netclaim.manifests.objects import Object
from netclaim.network.policy import Level
from netclaim.screen import Screen

__all__ = ["Trial", "run_trial"]

LOOK_S: Final = 0.02  # a look at hundreds of pods costs as much; changes come by the thousand
ALL_WELL: Final = 0
SOME_FAILED: Final = 1
STAGES: Final = {
    "claim": "its claim could not be made",
    "schedule": "the scheduler has no node for it",
    "prepare": "the driver could not prepare its claim",
    "attach": "its interface could not be attached",
    "report": "its interface was not reported",
    "order": "it was not created",
    "": "it has not started in time",
}


@dataclass(frozen=True, slots=True)
class Trial:
    """What to try, and where."""

    topology: Topology
    manifests: Manifests
    driver_names: tuple[str, ...]
    cni_bin_dirs: tuple[Path, ...] = ()
    shared_links: tuple[str, ...] = ()
    policy: Level = Level.BASELINE
    timeout_s: float = 60.0
    keep: bool = False

    def cluster(self) -> AbstractAsyncContextManager[EmbeddedCluster]:
        """The cluster to try it on."""
        return embedded_cluster(
            self.topology,
            self.driver_names,
            cni_bin_dirs=self.cni_bin_dirs,
            shared_links=self.shared_links,
            policy=self.policy,
        )


async def run_trial(trial: Trial, screen: Screen) -> int:
    """Run it and tell the outcome; returns the exit code."""
    quiet_logs()
    async with AsyncExitStack() as stack:
        with screen.working("starting the cluster"):
            cluster = await stack.enter_async_context(trial.cluster())
        with screen.working("starting the pods"):
            found = await start_pods(cluster, trial.manifests.items, trial.timeout_s)
        show_outcomes(found, screen)
        if trial.keep:
            await wait_for_user(cluster, screen)
    return ALL_WELL if all(pod.state == "ready" for pod in found) else SOME_FAILED


def quiet_logs() -> None:
    """Keep the parts' own words back: what a user needs is in the outcome and in events."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


async def start_pods(
    cluster: EmbeddedCluster, items: Sequence[Object], timeout_s: float
) -> tuple[PodOutcome, ...]:
    """Create everything, and wait until each pod has its interfaces or is known not to."""
    for namespace in sorted(unmade_namespaces(items)):
        cluster.add_namespace(namespace)
    raise_faults([fault.as_error() for fault in create_all(cluster.verbs, items)])

    found = _look(cluster)
    with suppress(TimeoutError):  # what has not started by then is told as such
        async with asyncio.timeout(timeout_s):
            while not settled(found, expected_pods(cluster.store)):
                await cluster.store.wait_after(cluster.store.revision)
                await asyncio.sleep(LOOK_S)
                found = _look(cluster)
    return found


def _look(cluster: EmbeddedCluster) -> tuple[PodOutcome, ...]:
    found = outcomes(cluster.store, cluster.driver_names)
    return (*found, *held_back(cluster.store, found))


def show_outcomes(found: Collection[PodOutcome], screen: Screen) -> None:
    """The pods with their interfaces, then what stopped those that have none."""
    screen.table(
        ("NAMESPACE", "POD", "NODE", "STATUS", "INTERFACES"),
        [
            (
                pod.namespace,
                pod.name,
                pod.node or "-",
                "Ready" if pod.state == "ready" else "Pending",
                _interfaces(pod),
            )
            for pod in found
        ],
    )
    failed = [pod for pod in found if pod.state != "ready"]
    for pod in failed:
        why = f": {pod.reason}" if pod.reason else ""
        screen.line(f"{pod.namespace}/{pod.name}: {STAGES[pod.stage]}{why}", good=False)
    if failed:
        told = f"{len(failed)} of {_count(len(found), 'pod')} did not get what they claim"
        screen.line(told, good=False)
    else:
        interfaces = sum(len(pod.interfaces) for pod in found)
        told = f"{_count(len(found), 'pod')} ready, with {_count(interfaces, 'interface')} by claim"
        screen.line(told, good=True)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _interfaces(pod: PodOutcome) -> str:
    shown = [f"{one.name} {','.join(one.ips)}".strip() for one in pod.interfaces]
    return "; ".join(shown) or "-"
