"""Objects to explain: the links of two nodes as a driver publishes them, claims, pods."""

from typing import Any

DRIVER = "cni.dra.networking.x-k8s.io"
CONTAINERS = [{"name": "c", "image": "i"}]
ATTRIBUTES = f'device.attributes["{DRIVER}"]'


def link(name: str, mtu: int = 1500, **more: Any) -> dict[str, Any]:
    """A device as the network driver publishes it."""
    attributes = {"name": {"string": name}, "mtu": {"int": mtu}, "rdma": {"bool": False}}
    return {"name": name, "attributes": attributes, **more}


def links(node: str, *devices: dict[str, Any], slices: int = 1, **spec: Any) -> dict[str, Any]:
    """The slice of a node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": slices}
    where = spec or {"nodeName": node}
    spec = {"driver": DRIVER, **where, "pool": pool, "devices": list(devices)}
    return _object("resource.k8s.io/v1", "ResourceSlice", f"slice-{node}", spec)


def device_class(name: str = "nics") -> dict[str, Any]:
    """All devices of the driver."""
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return _object("resource.k8s.io/v1", "DeviceClass", name, {"selectors": selectors})


def devices(*expressions: str, constraints: Any = (), **exactly: Any) -> dict[str, Any]:
    """What a claim asks for."""
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    request = {"deviceClassName": "nics", "selectors": selectors, **exactly}
    asked: dict[str, Any] = {"requests": [{"name": "nic", "exactly": request}]}
    network = {"cniVersion": "1.0.0", "name": "net", "type": "macvlan"}
    parameters = {"interface": "net1", "config": network}
    config = [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
    return {"devices": {**asked, "constraints": list(constraints), "config": config}}


def claim(name: str, *expressions: str, **exactly: Any) -> dict[str, Any]:
    """A claim with one request."""
    return _object("resource.k8s.io/v1", "ResourceClaim", name, devices(*expressions, **exactly))


def allocated(name: str, device: str, pool: str = "one", user: str = "") -> dict[str, Any]:
    """A claim that has a device already."""
    result = {"request": "nic", "driver": DRIVER, "pool": pool, "device": device}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [pool]}]}
    users = [{"resource": "pods", "name": user, "uid": "u"}] if user else []
    given = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    return {**claim(name), "status": {"allocation": given, "reservedFor": users}}


def template(name: str, *expressions: str, **exactly: Any) -> dict[str, Any]:
    """A template of claims."""
    spec = {"spec": devices(*expressions, **exactly)}
    return _object("resource.k8s.io/v1", "ResourceClaimTemplate", name, spec)


def pod(name: str, **uses: str) -> dict[str, Any]:
    """A pod that uses claims by their names."""
    used = [{"name": entry, "resourceClaimName": claim} for entry, claim in uses.items()]
    return _object("v1", "Pod", name, {"containers": CONTAINERS, "resourceClaims": used})


def deployment(name: str, replicas: int, **uses: str) -> dict[str, Any]:
    """A deployment whose pods use templates by their names."""
    used = [{"name": entry, "resourceClaimTemplateName": one} for entry, one in uses.items()]
    pods = {"containers": CONTAINERS, "resourceClaims": used}
    made = {"metadata": {"labels": {"app": name}}, "spec": pods}
    spec = {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": made,
    }  # fmt: skip
    return _object("apps/v1", "Deployment", name, spec)


def node(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A node."""
    made = _object("v1", "Node", name, spec)
    return {**made, "metadata": {"name": name, "labels": labels or {}}}


def _object(version: str, kind: str, name: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
