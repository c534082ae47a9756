"""Manifests that several tests apply."""

from typing import Any

ECHO_AND_SLEEP = ["sh", "-c", "echo hello from $HOSTNAME; exec sleep infinity"]


def deployment(name: str, replicas: int, node: str | None = None) -> dict[str, Any]:
    """A Deployment of plain pods that end at once when told to."""
    pod: dict[str, Any] = {
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "main",
                "image": "alpine:latest",
                "imagePullPolicy": "IfNotPresent",
                "command": ECHO_AND_SLEEP,
            }
        ],
    }
    if node is not None:
        pod["nodeSelector"] = {"kubernetes.io/hostname": node}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }
