"""Claims and pods for tests, as users write them."""

from typing import Any

from lab.drivers.driver import DEFAULT_DRIVER

CLASS = "netclaim-test"


def device_class(driver: str = DEFAULT_DRIVER, name: str = CLASS) -> dict[str, Any]:
    """All devices of a driver."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
    }


def macvlan(network: str = "test", master: str | None = "eth1", **more: Any) -> dict[str, Any]:
    """A CNI configuration: macvlan with addresses of 10.20.0.0/24."""
    plugin: dict[str, Any] = {
        "type": "macvlan",
        "mode": "bridge",
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.20.0.0/24"}]]},
        **more,
    }
    if master is not None:
        plugin["master"] = master
    return {"cniVersion": "1.0.0", "name": network, "plugins": [plugin]}


def parameters(config: Any, if_name: str = "net1") -> dict[str, Any]:
    """The driver's parameters around a CNI configuration."""
    return {
        "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
        "kind": "CNI",
        "ifName": if_name,
        "config": config,
    }


def request(name: str, link: str, class_name: str = CLASS, **more: Any) -> dict[str, Any]:
    """A request for a link by its name."""
    expression = f'device.attributes["{DEFAULT_DRIVER}"].name == "{link}"'
    exactly = {"deviceClassName": class_name, "selectors": [{"cel": {"expression": expression}}]}
    return {"name": name, "exactly": {**exactly, **more}}


def claim(
    name: str,
    given: dict[str, dict[str, Any]],
    requests: list[dict[str, Any]],
    driver: str = DEFAULT_DRIVER,
) -> dict[str, Any]:
    """A claim with parameters by request name."""
    config = [
        {"requests": [asked], "opaque": {"driver": driver, "parameters": params}}
        for asked, params in given.items()
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": requests, "config": config}},
    }


def simple_claim(
    name: str, link: str = "eth1", params: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A claim for one link, with macvlan on it; the network has the name of the claim."""
    given = {"nic": parameters(macvlan(name, master=link)) if params is None else params}
    return claim(name, given, [request("nic", link)])


def pod(name: str, *claims: str, image: str = "alpine:latest", **spec: Any) -> dict[str, Any]:
    """A pod that uses claims and sleeps."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sleep", "infinity"],
                }
            ],
            "resourceClaims": [{"name": c, "resourceClaimName": c} for c in claims],
            **spec,
        },
    }
