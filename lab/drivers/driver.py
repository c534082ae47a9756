"""DRA drivers on the lab's nodes: one process a node, with that node's own credentials.

This stands in for a DaemonSet: the token is a service account's, bound to the node, with the rights
that `deploy/` gives and no more. Each driver gets a port on its node's loopback address for health
and metrics. A driver that is killed with its keeper stays dead, as fault tests need it; a rebooted
node starts its own.
"""

import http.client
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from lab import CHECKOUT
from lab.kubectl import Kubectl
from lab.nodes.components import API_SERVICE, Component
from lab.nodes.linux import Process, inside_network
from lab.nodes.state import DriverRecord
from netclaim.keeper import program_path

__all__ = [
    "DEFAULT_DRIVER",
    "driver_component",
    "give_credentials",
    "grant",
    "is_ready",
    "netclaim_driver",
    "program_driver",
]

DEFAULT_DRIVER = "cni.dra.networking.x-k8s.io"
RIGHTS = [CHECKOUT / "deploy" / name for name in ("rbac.yaml", "node-admission.yaml")]
ACCOUNT, NAMESPACE = "netclaim-driver", "netclaim-system"
TOKEN_LIFE = "48h"  # longer than any lab is up


def netclaim_driver(name: str, *options: str) -> DriverRecord:
    """Return the checkout's own driver under a name, below its keeper as in the image."""
    driver = (sys.executable, "-m", "netclaim", "driver", "--driver-name", name, *options)
    return DriverRecord(name=name, command=(str(program_path()), *driver))


def program_driver(name: str, program: Path, *options: str) -> DriverRecord:
    """Return a driver that is a Python program of its own, built on the framework."""
    return DriverRecord(name=name, command=(sys.executable, str(program.absolute()), *options))


def grant(kubectl: Kubectl, drivers: Sequence[str]) -> None:
    """Give the service account its rights, for all drivers of the lab.

    The API server takes a changed policy up within seconds; drivers repeat what it refuses till
    then.
    """
    names = sorted(set(drivers))
    documents = [each for file in RIGHTS for each in yaml.safe_load_all(file.read_text())]
    for document in documents:
        for rule in document.get("rules", ()):
            if "resourceclaims/driver" in rule["resources"]:
                rule["resourceNames"] = names
        for variable in document.get("spec", {}).get("variables", ()):
            if variable["name"] == "drivers":
                variable["expression"] = json.dumps(names)  # CEL writes a list of strings so too
    kubectl("apply", "--filename=-", stdin=yaml.safe_dump_all(documents))


def give_credentials(kubectl: Kubectl, node: str, disk: Path) -> None:
    """Put a token that is bound to the node, and a kubeconfig for it, under `disk`/etc/netclaim."""
    uid = kubectl("get", "node", node, "--output=jsonpath={.metadata.uid}")
    bound = ["--bound-object-kind=Node", f"--bound-object-name={node}", f"--bound-object-uid={uid}"]
    token = kubectl(
        "create", "token", ACCOUNT, f"--namespace={NAMESPACE}", f"--duration={TOKEN_LIFE}", *bound
    )
    directory = disk / "etc/netclaim"
    directory.mkdir(exist_ok=True)
    for name, text in (("token", token), ("kubeconfig", _kubeconfig())):
        (directory / name).touch(mode=0o600)
        (directory / name).write_text(text)


def _kubeconfig() -> str:
    cluster = {
        "server": f"https://{API_SERVICE}",
        "certificate-authority": "/etc/kubernetes/pki/ca.crt",
    }
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": "driver", "user": {"tokenFile": "/etc/netclaim/token"}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "driver"}}],
        }
    )


def driver_component(record: DriverRecord, node: str, instance: str = "") -> Component:
    """Return the driver's process on a node; with `instance`, the one that takes over from it."""
    command = (
        *record.command,
        *((f"--instance={instance}",) if instance else ()),
        f"--node-name={node}",
        "--kubeconfig=/etc/netclaim/kubeconfig",
        f"--http-address=127.0.0.1:{record.port}",
    )
    environment = {"PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1"}
    name = f"{record.component}.next" if instance else record.component
    return Component(name, node, command, environment)


def is_ready(init: Process, record: DriverRecord) -> bool:
    """Whether the driver on this node says that kubelet and the runtime have it."""
    with inside_network(init):
        connection = http.client.HTTPConnection("127.0.0.1", record.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
