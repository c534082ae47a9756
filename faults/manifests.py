"""What a burst is made of: pods with one interface, with two, with a claim they share, and plain.

Every container looks at its interfaces before it does anything else, and once a second from then
on, and writes what it sees into a file on the node: so the promise is tested at the moment at which
a container starts, and for containers that are gone by the time of an audit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lab.drivers.driver import DEFAULT_DRIVER

__all__ = [
    "CLASS",
    "NODE",
    "STARTS_DIR",
    "BurstPod",
    "burst_objects",
    "burst_pods",
    "device_class",
    "plain_pod",
]

NODE = "kind-worker"
CLASS = "faults"
STARTS_DIR = "/var/lib/faults/starts"  # on the node
BURST_LABEL = "faults-burst"
SUBNETS = {"net1": "10.20.0.0/22", "net2": "10.21.0.0/22"}  # room for what retries hold for a while
LINKS = {"net1": "eth1", "net2": "eth2"}

# One line for each look that differs from the one before: what, interface, time. `wait` instead of
# a plain sleep, so that SIGTERM ends the container at once.
WATCH = f"""
file={STARTS_DIR}/$HOSTNAME
look() {{ ip -4 -o addr show dev $1 2>/dev/null | grep -q inet; }}
for i in $INTERFACES; do
  if look $i; then echo "START $i $(date +%s)" >> $file; eval was_$i=yes
  else echo "MISSING $i $(date +%s)" >> $file; eval was_$i=no; fi
done
trap 'exit 0' TERM
while :; do
  sleep 1 & wait $!
  for i in $INTERFACES; do
    is=no; test -e /sys/class/net/$i && is=yes
    eval was=\\$was_$i
    test $is = $was && continue
    if [ $is = yes ]; then word=FOUND; else word=LOST; fi
    echo "$word $i $(date +%s)" >> $file; eval was_$i=$is
  done
done
"""


@dataclass(frozen=True, slots=True)
class BurstPod:
    """A pod of a burst: its manifest, and the interfaces that it must have by its claim."""

    name: str
    manifest: dict[str, Any]
    interfaces: tuple[str, ...] = ()


def device_class() -> dict[str, Any]:
    """Return all devices of the driver."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": CLASS},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DEFAULT_DRIVER}"'}}]},
    }


def burst_objects(burst: str, plugin: str, *, shares: bool) -> list[dict[str, Any]]:
    """Return the claim that some pods of the burst share, and the templates of the others' claims.

    All of them are for the same links. Where devices have no shares, they ask for admin access.
    """
    one, both = (_claim_spec(names, plugin, shares=shares) for names in (("net1",), LINKS))
    shared = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"{burst}-shared", "labels": {BURST_LABEL: burst}},
        "spec": one,
    }
    return [_template("one", one), _template("two", both), shared]


def burst_pods(burst: str, claimed: int, plain: int, *, named: bool) -> list[BurstPod]:
    """Make the pods: of five with claims, three have one interface, one has two, one shares.

    Plain ones are spread among them, so that both kinds meet the fault at all stages. `named` is
    whether containers name the claim that they use.
    """
    pods = []
    for number in range(claimed):
        name = f"{burst}-c{number}"
        if number % 5 == 3:
            source = {"resourceClaimTemplateName": "two"}
            pods.append(_claimed(burst, name, source, 2, named=named))
        elif number % 5 == 4:
            source = {"resourceClaimName": f"{burst}-shared"}
            pods.append(_claimed(burst, name, source, 1, named=named))
        else:
            source = {"resourceClaimTemplateName": "one"}
            pods.append(_claimed(burst, name, source, 1, named=named))
    for number in range(plain):
        place = (number + 1) * len(pods) // plain
        pods.insert(place, BurstPod(f"{burst}-p{number}", _pod(burst, f"{burst}-p{number}", ())))
    return pods


def plain_pod(name: str) -> dict[str, Any]:
    """Return a pod without claims, put on the node without a scheduler."""
    manifest = _pod("steady", name, ())
    manifest["spec"]["nodeName"] = NODE
    return manifest


def _claimed(burst: str, name: str, source: dict[str, str], count: int, *, named: bool) -> BurstPod:
    interfaces = ("net1", "net2")[:count]
    manifest = _pod(burst, name, interfaces)
    manifest["spec"]["resourceClaims"] = [{"name": "network", **source}]
    if named:
        (container,) = manifest["spec"]["containers"]
        container["resources"] = {"claims": [{"name": "network"}]}
    return BurstPod(name, manifest, interfaces)


def _pod(burst: str, name: str, interfaces: Sequence[str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {BURST_LABEL: burst}},
        "spec": {
            "terminationGracePeriodSeconds": 1,  # with none, a pod is forgotten before it has ended
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "nodeSelector": {"kubernetes.io/hostname": NODE},
            "containers": [
                {
                    "name": "main",
                    "image": "alpine:latest",
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sh", "-c", WATCH],
                    "env": [{"name": "INTERFACES", "value": " ".join(interfaces)}],
                    "volumeMounts": [{"name": "starts", "mountPath": STARTS_DIR}],
                }
            ],
            "volumes": [
                {"name": "starts", "hostPath": {"path": STARTS_DIR, "type": "DirectoryOrCreate"}}
            ],
        },
    }


def _template(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": spec},
    }


def _claim_spec(interfaces: Iterable[str], plugin: str, *, shares: bool) -> dict[str, Any]:
    requests, config = [], []
    for interface in interfaces:
        link = LINKS[interface]
        expression = f'device.attributes["{DEFAULT_DRIVER}"].name == "{link}"'
        exactly = {"deviceClassName": CLASS, "selectors": [{"cel": {"expression": expression}}]}
        rights = {} if shares else {"adminAccess": True}
        requests.append({"name": interface, "exactly": {**exactly, **rights}})
        parameters = _parameters(interface, link, plugin)
        opaque = {"driver": DEFAULT_DRIVER, "parameters": parameters}
        config.append({"requests": [interface], "opaque": opaque})
    return {"devices": {"requests": requests, "config": config}}


def _parameters(interface: str, link: str, plugin: str) -> dict[str, Any]:
    ipam = {"type": "host-local", "ranges": [[{"subnet": SUBNETS[interface]}]]}
    network = {"type": plugin, "mode": "bridge", "master": link, "ipam": ipam}
    return {
        "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
        "kind": "CNI",
        "ifName": interface,
        "config": {"cniVersion": "1.0.0", "name": f"faults-{interface}", "plugins": [network]},
    }
