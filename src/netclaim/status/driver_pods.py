"""Nodes whose driver does not do its work, though their links may still be published. No I/O.

Slices outlast a driver that crashes or leaves by half a minute or more: until then their links look
free, and pods that get one do not start. Limit: sees drivers that run as pods with the label
and the variable of the chart, in the namespaces that were listed; of others nothing is said.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from netclaim.status.values import Problem

__all__ = ["DRIVER_PODS", "idle_drivers"]

LABEL: Final = "app.kubernetes.io/name"
OURS: Final = "netclaim"
DRIVER_PODS: Final = f"{LABEL}={OURS}"  # as a selector
DRIVER_NAME: Final = "NETCLAIM_DRIVER_NAME"  # the variable that says which driver a pod runs
NAMES_SHOWN: Final = 5  # of nodes in one line


def idle_drivers(
    found: Iterable[Mapping[str, Any]], publishing: Mapping[str, Collection[str]]
) -> Iterator[Problem]:
    """Yield a problem for each driver whose pods do not work, on nodes where they should.

    `publishing` has the nodes with links, by driver. On others, a pod may be starting.
    """
    by_driver: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for pod in found:
        if pod.get("kind") == "Pod" and _labels(pod).get(LABEL) == OURS:
            nodes = by_driver.setdefault(_driver_of(pod), {})
            nodes.setdefault(_spec(pod).get("nodeName") or "", []).append(pod)
    for driver, nodes in sorted(by_driver.items()):
        here = {
            name: nodes[name]
            for name in sorted(nodes)
            if name in publishing.get(driver, ()) or any(map(_crashes, nodes[name]))
        }
        idle = {name: pods for name, pods in here.items() if not any(map(_works, pods))}
        leaving = {name: pods for name, pods in idle.items() if all(map(_is_leaving, pods))}
        broken = {name: pods for name, pods in idle.items() if name not in leaving}
        if broken:
            yield _broken(driver, broken)
        if leaving:
            yield _leaving(driver, leaving)


def _broken(driver: str, nodes: Mapping[str, list[Mapping[str, Any]]]) -> Problem:
    pods = [next(pod for pod in each if not _is_leaving(pod)) for each in nodes.values()]
    reason = next(filter(None, map(_reason, pods)), "")
    previous = " --previous" if any(map(_crashes, pods)) else ""
    first = pods[0]["metadata"]
    return Problem(
        severity="error",
        kind="Driver",
        namespace="",
        name=driver,
        message=f"not ready on {_listed(nodes)}{f' ({reason})' if reason else ''}: pods with claims"
        " do not start there",
        hint=f"kubectl logs {first['name']} -n {first.get('namespace', '')}{previous}",
    )


def _leaving(driver: str, nodes: Mapping[str, list[Mapping[str, Any]]]) -> Problem:
    return Problem(
        severity="warning",
        kind="Driver",
        namespace="",
        name=driver,
        message=f"being uninstalled on {_listed(nodes)}: no more claims are prepared there",
        hint="it ends when the last pod with an interface of it has ended",
    )


def _listed(nodes: Mapping[str, Any]) -> str:
    names = list(nodes)
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{', '.join(names[:NAMES_SHOWN])}{more}"


def _labels(pod: Mapping[str, Any]) -> Mapping[str, str]:
    return (pod.get("metadata") or {}).get("labels") or {}


def _spec(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    return pod.get("spec") or {}


def _driver_of(pod: Mapping[str, Any]) -> str:
    containers = _spec(pod).get("containers") or ()
    said = (each for one in containers for each in one.get("env") or ())
    return next((each.get("value") or "" for each in said if each["name"] == DRIVER_NAME), "")


def _works(pod: Mapping[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not _is_leaving(pod)


def _is_leaving(pod: Mapping[str, Any]) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _crashes(pod: Mapping[str, Any]) -> bool:
    return not _works(pod) and any(each.get("restartCount") for each in _containers(pod))


def _reason(pod: Mapping[str, Any]) -> str:
    """Return why the pod's container does not run, in kubelet's word; nothing if it runs."""
    for each in _containers(pod):
        for state in ("waiting", "terminated"):
            found = (each.get("state") or {}).get(state)
            if found:
                return str(found.get("reason", ""))
    return ""


def _containers(pod: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return (pod.get("status") or {}).get("containerStatuses") or ()
