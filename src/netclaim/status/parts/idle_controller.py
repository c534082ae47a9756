"""The controller, where something needs it and no pod of it works. No I/O.

Limit: one that does not run as the chart's pods is not seen. Whether it runs is judged only where
the pods of netclaim were listed, which those of the drivers show.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from netclaim.status.values import Problem
from netclaim.survey.driver_pods import DriverPod, is_controller_pod, is_driver_pod

DOCTOR: Final = "the check `controller` of `netclaim doctor` shows whether it runs"


def idle_controller(found: Iterable[Mapping[str, Any]], needed: str) -> Iterator[Problem]:
    """Yield a problem if something needs it, in words, and no pod of it works."""
    every = list(found)
    read = map(DriverPod.read, filter(is_controller_pod, every))
    pods = [pod for pod in read if not pod.is_leaving]
    if not needed or any(pod.works for pod in pods):
        return
    if not pods and not any(map(is_driver_pod, every)):
        return  # pods of netclaim may not be listed
    reason = next(filter(None, (pod.reason("waiting", "terminated") for pod in pods)), "")
    why = f"no pod of it is ready{f' ({reason})' if reason else ''}" if pods else "it has no pod"
    yield Problem(
        severity="warning",
        kind="Controller",
        name="",
        message=f"{why}: changes of {needed} have no effect",
        hint=_look(pods) if pods else DOCTOR,
    )


def _look(pods: Iterable[DriverPod]) -> str:
    first = next(iter(pods))
    if first.has_restarted:
        return f"kubectl logs {first.name} -n {first.namespace} --previous"
    command = "logs" if first.is_running else "describe pod"
    return f"kubectl {command} {first.name} -n {first.namespace}"
