"""Objects to show: a node's links, claims with what the driver reports, and pods."""

from typing import Any

from tests.support.explain_objects import DRIVER, device_class, link, links, node

__all__ = ["DRIVER", "claim", "device_class", "link", "links", "node", "pod", "ready_node"]


def ready_node(name: str, ready: str = "True", **spec: Any) -> dict[str, Any]:
    """A node that says whether it is Ready."""
    return {**node(name, **spec), "status": {"conditions": [{"type": "Ready", "status": ready}]}}


def claim(
    name: str,
    device: str = "",
    *,
    pool: str = "one",
    driver: str = DRIVER,
    pods: tuple[str, ...] = (),
    ready: bool | None = None,
    message: str = "",
    ips: tuple[str, ...] = (),
    data: Any = None,
    **result: Any,
) -> dict[str, Any]:
    """A claim, with a device if one is named, and with the driver's word on it if `ready` is."""
    request = {"name": "nic", "exactly": {"deviceClassName": "nics"}}
    made: dict[str, Any] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": [request]}},
    }
    if not device:
        return made
    place = {"driver": driver, "pool": pool, "device": device}
    share = {key: result[key] for key in ("shareID",) if key in result}
    made["status"] = {
        "allocation": {"devices": {"results": [{"request": "nic", **place, **result}]}},
        "reservedFor": [{"resource": "pods", "name": one, "uid": f"uid-{one}"} for one in pods],
    }
    if ready is not None:
        condition = {
            "type": "Ready",
            "status": str(ready),
            "reason": "NetworkReady" if ready else "NetworkNotReady",
            "message": message,
            "lastTransitionTime": "2026-11-17T08:00:00Z",
        }
        network = {"interfaceName": "net1", "ips": list(ips)} if ips else None
        reported = {"networkData": network, "data": data}
        entry = {**place, **share, "conditions": [condition]}
        entry |= {key: value for key, value in reported.items() if value is not None}
        made["status"]["devices"] = [entry]
    return made


def pod(
    name: str,
    *claims: str,
    on: str = "",
    phase: str = "Running",
    why: str = "",
    template: str = "",
    containers: bool = True,
) -> dict[str, Any]:
    """A pod that uses claims by name, or one from a template that is not made yet."""
    uses: list[dict[str, Any]] = [
        {"name": f"net{number}", "resourceClaimName": one} for number, one in enumerate(claims)
    ]
    if template:
        uses.append({"name": "made", "resourceClaimTemplateName": template})
    named = {"claims": [{"name": one["name"]} for one in uses]} if containers else {}
    scheduled = [{"type": "PodScheduled", "status": "False", "message": why}] if why else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": named}],
            "resourceClaims": uses,
            **({"nodeName": on} if on else {}),
        },
        "status": {"phase": phase, "conditions": scheduled},
    }
