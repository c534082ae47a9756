"""Drivers whose pods do not work, though their links may still be published. No I/O.

Slices outlast a driver that crashes or leaves by half a minute or more: until then their links look
free, and pods that get one do not start. Limit: only drivers whose pods were listed are judged.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from netclaim.screen.words import listed
from netclaim.status.values import Problem
from netclaim.survey.driver_pods import DriverPod, is_driver_pod


def idle_drivers(
    found: Iterable[Mapping[str, Any]], publishing: Mapping[str, Collection[str]]
) -> Iterator[Problem]:
    """Yield a problem for each driver whose pods do not work, on nodes where they should.

    `publishing` has the nodes with links, by driver. On other nodes, a pod may be starting.
    """
    by_driver: dict[str, dict[str, list[DriverPod]]] = {}
    for pod in map(DriverPod.read, filter(is_driver_pod, found)):
        by_driver.setdefault(pod.driver, {}).setdefault(pod.node, []).append(pod)
    for driver, nodes in sorted(by_driver.items()):
        broken: dict[str, DriverPod] = {}
        waiting: dict[str, DriverPod] = {}
        leaving: list[str] = []
        for node, pods in sorted(nodes.items()):
            stuck = next((pod for pod in pods if pod.stuck), None)
            staying = stuck or next((pod for pod in pods if not pod.is_leaving), None)
            if any(pod.works for pod in pods):
                waiting |= {node: stuck} if stuck else {}
            elif stuck or node in publishing.get(driver, ()) or any(map(_crashes, pods)):
                broken |= {node: staying} if staying else {}
                leaving += [] if staying else [node]
        yield from _problems(driver, broken, waiting, leaving)


def _problems(
    driver: str,
    broken: Mapping[str, DriverPod],
    waiting: Mapping[str, DriverPod],
    leaving: Sequence[str],
) -> Iterator[Problem]:
    if broken:
        yield _broken(driver, broken)
    if waiting:
        yield _waiting(driver, waiting)
    if leaving:
        yield _leaving(driver, leaving)


def _crashes(pod: DriverPod) -> bool:
    return not pod.works and pod.has_restarted


def _broken(driver: str, pods: Mapping[str, DriverPod]) -> Problem:
    """Return the problem of a driver with the pod of each node that does not work."""
    reasons = (pod.reason("waiting", "terminated") for pod in pods.values())
    reason = next(filter(None, reasons), "")
    previous = " --previous" if any(map(_crashes, pods.values())) else ""
    first = next(iter(pods.values()))
    return Problem(
        severity="error",
        kind="Driver",
        name=driver,
        message=f"not ready on {listed(list(pods))}{f' ({reason})' if reason else ''}: pods with"
        " claims do not start there",
        hint=f"kubectl logs {first.name} -n {first.namespace}{previous}",
    )


def _waiting(driver: str, pods: Mapping[str, DriverPod]) -> Problem:
    """Return the problem of an update whose new pods do not start; the old ones work on."""
    first = next(iter(pods.values()))
    crashed = first.has_restarted
    look = f"logs {first.name} --previous" if crashed else f"describe pod {first.name}"
    return Problem(
        severity="warning",
        kind="Driver",
        name=driver,
        message=f"its update is stuck on {listed(list(pods))} ({first.stuck}): the old pod works"
        " on, and other nodes are not updated",
        hint=f"kubectl {look} -n {first.namespace}",
    )


def _leaving(driver: str, nodes: Sequence[str]) -> Problem:
    return Problem(
        severity="warning",
        kind="Driver",
        name=driver,
        message=f"being uninstalled on {listed(nodes)}: no more claims are prepared there",
        hint="it ends when the last pod with an interface of it has ended",
    )
