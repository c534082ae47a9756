"""The outcome of a trial, for people and for programs.

Promise: equal failures of the pods of one owner are one line; both forms have the same content.
Only the screen is written to.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from netclaim.local.result.given import GivenDevice
from netclaim.local.result.outcome import PodOutcome
from netclaim.local.result.services import ServiceOutcome
from netclaim.screen import Screen
from netclaim.screen.words import counted

STAGES: Final = {
    "claim": "the claim could not be created",
    "schedule": "no node fits",
    "prepare": "the driver could not prepare the claim",
    "attach": "the interface could not be attached",
    "report": "the interface was not reported",
    "order": "not created",
    "network": "a network was not attached",
    "address": "the address is not unique",
    "": "still starting",
}
EXPLAIN: Final = (
    "to see why for each device, run this again with --keep: it shows the `netclaim explain`"
    " command to run"
)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the pods, in the time that they had."""

    pods: tuple[PodOutcome, ...]
    uncreated: int = 0  # pods that were not created by then
    timeout_s: float = 60.0
    services: tuple[ServiceOutcome, ...] = ()  # that name a network
    doubts: tuple[str, ...] = ()  # what works here, and would not with more pods

    @property
    def is_well(self) -> bool:
        """Whether all pods got what they claim, and no Service is wrong."""
        started = not self.uncreated and all(pod.state == "ready" for pod in self.pods)
        return started and not any(each.fault for each in self.services)

    @property
    def starting(self) -> int:
        """The number of pods that were still starting."""
        return self.uncreated + sum(pod.state == "starting" for pod in self.pods)

    @property
    def count(self) -> int:
        """The number of pods, including those that are yet to be created."""
        return len(self.pods) + self.uncreated


def unschedulable(result: Result) -> PodOutcome | None:
    """Return the first pod without a node, if there is one."""
    return next((pod for pod in result.pods if pod.stage == "schedule"), None)


def show_result(result: Result, screen: Screen, *, keep: bool = False) -> None:
    """Show the pods with their interfaces, then what stopped those that have none."""
    more = any(pod.devices for pod in result.pods)
    header = ("NAMESPACE", "POD", "NODE", "STATUS", "INTERFACES")
    screen.table((*header, "DEVICES") if more else header, [_row(pod, more) for pod in result.pods])
    if more:
        screen.table(
            ("POD", "DEVICE", "CONTAINERS", "WHAT THEY GET"),
            [row for pod in result.pods for given in pod.devices for row in _edits(pod, given)],
        )
    if result.services:
        screen.table(
            ("NAMESPACE", "SERVICE", "NETWORK", "ENDPOINTS"),
            [
                (each.namespace, each.name, each.network, ", ".join(each.endpoints) or "-")
                for each in result.services
            ],
        )
    for service in result.services:
        if wrong := service.fault or service.doubt:
            screen.line(f"{service.namespace}/{service.name}: {wrong}", good=False)
    for group in _groups(result.pods):
        first = group[0]
        why = f": {first.reason}" if first.reason else ""
        screen.line(f"{_who(group)}: {STAGES[first.stage]}{why}", good=False)
    for doubt in result.doubts:
        screen.line(f"warning: {doubt}")
    if not keep and unschedulable(result) is not None:
        screen.line(EXPLAIN)
    if result.starting:
        verb = "was" if result.starting == 1 else "were"
        pods = f"{counted(result.starting, 'pod')} {verb}"
        screen.line(f"{pods} still starting after {result.timeout_s:g} s (--timeout)", good=False)
    screen.line(_summary(result), good=result.is_well)


def as_json(result: Result) -> str:
    """Return the same as JSON."""
    ready = sum(pod.state == "ready" for pod in result.pods)
    summary = {
        "pods": result.count,
        "ready": ready,
        "starting": result.starting,
        "stopped": result.count - ready - result.starting,
        "interfaces": sum(len(pod.interfaces) for pod in result.pods),
        "devices": sum(len(pod.devices) for pod in result.pods),
    }
    listed: dict[str, Any] = {"pods": [_as_object(pod) for pod in result.pods]}
    if result.services:
        listed["services"] = [_service(each) for each in result.services]
    if result.doubts:
        listed["doubts"] = list(result.doubts)
    listed["summary"] = summary
    return msgspec.json.format(msgspec.json.encode(listed), indent=2).decode()


def _as_object(pod: PodOutcome) -> dict[str, Any]:
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "owner": pod.owner,
        "node": pod.node,
        "ready": pod.state == "ready",
        "state": pod.state,
        "interfaces": [msgspec.to_builtins(one) for one in pod.interfaces],
        "devices": [_device(one) for one in pod.devices],
        "stage": pod.stage,
        "reason": pod.reason,
    }


def _device(given: GivenDevice) -> dict[str, Any]:
    return {
        "name": given.name,
        "driver": given.driver,
        "request": given.request,
        "claim": given.claim,
        "containers": list(given.containers),
        "env": list(given.env),
        "deviceNodes": list(given.device_nodes),
        "mounts": list(given.mounts),
    }


def _service(found: ServiceOutcome) -> dict[str, Any]:
    return {
        "namespace": found.namespace,
        "name": found.name,
        "network": found.network,
        "endpoints": list(found.endpoints),
        "reason": found.fault or found.doubt,
    }


def _groups(found: Sequence[PodOutcome]) -> list[list[PodOutcome]]:
    """Group the pods that did not get what they claim by equal failures."""
    groups: dict[tuple[str, ...], list[PodOutcome]] = {}
    for pod in found:
        if pod.state != "ready":
            groups.setdefault(_failure(pod), []).append(pod)
    return list(groups.values())


def _failure(pod: PodOutcome) -> tuple[str, ...]:
    """Return what is equal for pods that fail in the same way."""
    if pod.stage == "address":  # it names all pods that have the address
        return (pod.stage, pod.reason)
    owner = pod.owner or pod.name
    own_names = re.compile(rf"\b{re.escape(pod.name)}(?:-[a-z0-9-]+)?\b")  # and its claims' names
    return (pod.namespace, owner, pod.stage, own_names.sub("", pod.reason))


def _who(group: Sequence[PodOutcome]) -> str:
    first = group[0]
    if len(group) == 1:
        return f"{first.namespace}/{first.name}"
    if len({(pod.namespace, pod.owner) for pod in group}) == 1 and first.owner:
        return f"{len(group)} pods of {first.owner} in namespace {first.namespace}"
    return f"{len(group)} pods"


def _summary(result: Result) -> str:
    failed = result.count - sum(pod.state == "ready" for pod in result.pods)
    if failed:
        what = "what it claims" if failed == 1 else "what they claim"
        return f"{failed} of {counted(result.count, 'pod')} did not get {what}"
    interfaces = sum(len(pod.interfaces) for pod in result.pods)
    devices = sum(len(pod.devices) for pod in result.pods)
    others = f" and {counted(devices, 'other device')}" if devices else ""
    claimed = counted(interfaces, "claimed interface")
    return f"{counted(result.count, 'pod')} ready, with {claimed}{others}"


def _status(pod: PodOutcome) -> str:
    if pod.state == "ready":
        return "Ready"
    return "Error" if pod.stage in ("address", "network") else "Pending"


def _row(pod: PodOutcome, more: bool) -> tuple[str, ...]:
    row = (pod.namespace, pod.name, pod.node or "-", _status(pod), _interfaces(pod))
    return (*row, ", ".join(one.name for one in pod.devices) or "-") if more else row


def _edits(pod: PodOutcome, given: GivenDevice) -> Iterator[tuple[str, ...]]:
    """Yield a row for each edit of a device; a device without any has one, too."""
    containers = ", ".join(given.containers) or "none names it"
    for number, edit in enumerate(given.edits or ("-",)):
        yield ("", "", "", edit) if number else (pod.name, given.name, containers, edit)


def _interfaces(pod: PodOutcome) -> str:
    shown = [f"{one.name} {','.join(one.ips)}".strip() for one in pod.interfaces]
    return "; ".join(shown) or "-"
