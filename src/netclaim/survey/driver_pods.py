"""Pods that run a driver, or the controller: whether they work, crash or are leaving.

This is the one place where `netclaim status` and `netclaim doctor` judge such a pod. No I/O. Limit:
sees those with the labels and the variable of the chart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

LABEL: Final = "app.kubernetes.io/name"
OURS: Final = "netclaim"
DRIVER_PODS: Final = f"{LABEL}={OURS}"  # the chart's label, as a selector
CONTROLLER: Final = "netclaim-controller"
CONTROLLER_PODS: Final = f"{LABEL}={CONTROLLER}"
DRIVER_NAME: Final = "NETCLAIM_DRIVER_NAME"  # the variable that says which driver a pod runs


# What kubelet says of a container that does not start, and will not by itself.
STUCK: Final = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)


@dataclass(frozen=True, slots=True)
class Container:
    """A container as kubelet reports it: running, waiting or terminated, and why."""

    name: str
    state: str
    reason: str
    has_restarted: bool


@dataclass(frozen=True, slots=True)
class DriverPod:
    """A pod that runs a driver; `driver` is empty if the pod does not say which."""

    driver: str
    namespace: str
    name: str
    node: str  # empty before it has one
    is_ready: bool
    is_leaving: bool
    containers: tuple[Container, ...]

    @classmethod
    def read(cls, pod: Mapping[str, Any]) -> "DriverPod":
        """Read a pod as the API serves it."""
        meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
        conditions = status.get("conditions") or ()
        return cls(
            driver=driver_in(spec),
            namespace=meta.get("namespace") or "",
            name=meta["name"],
            node=spec.get("nodeName") or "",
            is_ready=any(
                each["type"] == "Ready" and each["status"] == "True" for each in conditions
            ),
            is_leaving=bool(meta.get("deletionTimestamp")),
            containers=tuple(map(_container, status.get("containerStatuses") or ())),
        )

    @property
    def works(self) -> bool:
        """Whether it serves its node, and goes on doing so."""
        return self.is_ready and not self.is_leaving

    @property
    def has_restarted(self) -> bool:
        """Whether kubelet has started one of its containers again."""
        return any(each.has_restarted for each in self.containers)

    @property
    def stuck(self) -> str:
        """Why it does not start, in kubelet's word; empty if it may be about to."""
        reason = self.reason("waiting")
        return reason if reason in STUCK and not self.is_leaving else ""

    @property
    def is_running(self) -> bool:
        """Whether commands can be executed in it."""
        return any(each.state == "running" for each in self.containers)

    def reason(self, *states: str) -> str:
        """Return why the first container in one of these states is in it, in kubelet's word."""
        return next((each.reason for each in self.containers if each.state in states), "")


def is_driver_pod(pod: Mapping[str, Any]) -> bool:
    """Whether an object is a pod with the label of the chart."""
    return _is_pod_of(pod, OURS)


def is_controller_pod(pod: Mapping[str, Any]) -> bool:
    """Whether an object is a pod of the controller, by its label."""
    return _is_pod_of(pod, CONTROLLER)


def _is_pod_of(pod: Mapping[str, Any], name: str) -> bool:
    labels = (pod.get("metadata") or {}).get("labels") or {}
    return pod.get("kind") == "Pod" and labels.get(LABEL) == name


def driver_in(spec: Mapping[str, Any]) -> str:
    """Return the name of the driver that the containers of a pod's spec run, if they say it."""
    variables = (each for one in spec.get("containers") or () for each in one.get("env") or ())
    return next((each.get("value") or "" for each in variables if each["name"] == DRIVER_NAME), "")


def _container(status: Mapping[str, Any]) -> Container:
    states: Mapping[str, Any] = status.get("state") or {}
    state = next((kind for kind, about in states.items() if about is not None), "")
    return Container(
        name=status.get("name", ""),
        state=state,
        reason=states[state].get("reason", "") if state else "",
        has_restarted=bool(status.get("restartCount")),
    )
