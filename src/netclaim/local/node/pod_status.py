"""What kubelet writes about a pod: that it runs, or what it waits for. No I/O."""

from datetime import datetime

from netclaim.model.claims.claim import JsonObject
from netclaim.model.on_node.pod import PodSandbox


def running(pod: JsonObject, sandbox: PodSandbox, now: datetime) -> JsonObject:
    """Return the status of a pod whose containers were all created."""
    since = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    statuses = [
        {
            "name": container["name"],
            "image": container["image"],
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": since}},
        }
        for container in pod["spec"]["containers"]
    ]
    status: JsonObject = {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": since}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": statuses,
        "startTime": since,
        "reason": "",
        "message": "",
    }
    if sandbox.ips:
        status |= {"podIP": sandbox.ips[0], "podIPs": [{"ip": ip} for ip in sandbox.ips]}
    return status


def waiting(reason: str, message: str) -> JsonObject:
    """Return the status of a pod that is on its node but does not start."""
    return {"phase": "Pending", "reason": reason, "message": message}


def is_running(pod: JsonObject) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Running")
