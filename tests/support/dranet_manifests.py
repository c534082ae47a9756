"""Manifests as they are written for dranet, in the shapes that its own examples have."""

from typing import Any

import yaml

DRIVER = "dra.net"
OURS = f'device.driver == "{DRIVER}"'
RDMA = f'device.attributes["{DRIVER}"].rdma == true'


def named(*links: str) -> str:
    """Selects links by their names, as most examples do."""
    attribute = f'device.attributes["{DRIVER}"].ifName'
    chosen = " || ".join(f'{attribute} == "{link}"' for link in links)
    return f"has({attribute}) && ({chosen})"


def device_class(name: str, *more: str) -> str:
    """A class for the driver's devices, of all or of some."""
    selectors = [{"cel": {"expression": each}} for each in (OURS, *more)]
    return _document("resource.k8s.io/v1", "DeviceClass", name, {"selectors": selectors})


def request(name: str, of: str, *expressions: str, count: int | None = None) -> dict[str, Any]:
    """A request for a device, or for several."""
    exactly: dict[str, Any] = {"deviceClassName": of}
    if expressions:
        exactly["selectors"] = [{"cel": {"expression": each}} for each in expressions]
    if count is not None:
        exactly["count"] = count
    return {"name": name, "exactly": exactly}


def parameters(written: dict[str, Any], *requests: str) -> dict[str, Any]:
    """An entry of `config`, for all requests or for some."""
    named_ = {"requests": list(requests)} if requests else {}
    return {**named_, "opaque": {"driver": DRIVER, "parameters": written}}


def claim_spec(*requests: dict[str, Any], **devices: Any) -> dict[str, Any]:
    """What a claim asks for."""
    return {"devices": {"requests": list(requests), **devices}}


def claim(name: str, spec: dict[str, Any], namespace: str = "default") -> str:
    """A claim of its own."""
    return _document("resource.k8s.io/v1", "ResourceClaim", name, spec, namespace)


def template(name: str, spec: dict[str, Any], namespace: str = "default") -> str:
    """A template of claims."""
    kind = "ResourceClaimTemplate"
    return _document("resource.k8s.io/v1", kind, name, {"spec": spec}, namespace)


def pod(name: str, of: str, namespace: str = "default") -> str:
    """A pod with a claim that there is."""
    return _document("v1", "Pod", name, _pod_spec({"resourceClaimName": of}), namespace)


def deployment(name: str, of: str, namespace: str = "default") -> str:
    """A Deployment of one pod, with a claim of a template."""
    labels = {"app": name}
    made = {"metadata": {"labels": labels}, "spec": _pod_spec({"resourceClaimTemplateName": of})}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": made}
    return _document("apps/v1", "Deployment", name, spec, namespace)


def namespace(name: str, **labels: str) -> str:
    """A namespace with labels."""
    metadata = {"name": name, "labels": labels}
    return "---\n" + yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def alone(name: str, link: str, written: dict[str, Any], namespace: str = "default") -> str:
    """A pod with a claim for one link, both of this name."""
    asked = claim_spec(request("nic", DRIVER, named(link)), config=[parameters(written)])
    return claim(name, asked, namespace) + pod(name, name, namespace)


def _pod_spec(source: dict[str, str]) -> dict[str, Any]:
    containers = [{"name": "app", "image": "alpine"}]
    return {"containers": containers, "resourceClaims": [{"name": "net", **source}]}


def _document(version: str, kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> str:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    body = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    return "---\n" + yaml.safe_dump(body, sort_keys=False)
