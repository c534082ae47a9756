"""`netclaim try` with every kind of workload and of topology, as programs read its outcome."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from netclaim.cli.starting import start_driver
from netclaim.network import DRIVER_NAME
from tests.embedded.local.test_commands import netclaim

pytestmark = pytest.mark.embedded

CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "net"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER_NAME}"'}}]},
}
RANGES = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
FAMILIES = """\
nodes: [alpha, {name: beta, labels: {zone: z}}]
networks:
- {name: main, subnet: [192.0.2.0/24, "fd00:2::/64"], links: {alpha: eth0, beta: eth0}}
- {name: fast, mtu: 9000, links: {beta: eth1}}
"""
IPV6 = """\
nodes: [alpha]
networks:
- {name: main, subnet: "fd00:2::/64", links: {alpha: [eth0, eth1]}}
"""
ONE = """\
nodes: [alpha]
networks:
- {name: main, subnet: 192.0.2.0/24, links: {alpha: eth0}}
"""
CARDS = """\
nodes: [alpha]
networks:
- {name: main, subnet: 192.0.2.0/24, links: {alpha: eth0}}
- name: fast
  links:
    alpha:
    - {name: eth1, speed: 100000, numaNode: 0, pcieRoot: "pci0000:17", rdma: mlx5_0}
    - {name: eth2, speed: 25000, numaNode: 1, pcieRoot: "pci0000:3a"}
    - {name: eth3, speed: 100000, numaNode: 1, pcieRoot: "pci0000:3a"}
"""


def attribute(name: str) -> str:
    """How a selector reads an attribute of ours."""
    return f'device.attributes["{DRIVER_NAME}"].{name}'


def template(*selectors: str, requests: int = 1, **devices: Any) -> dict[str, Any]:
    """A template of claims with an interface for each request."""
    names = [f"r{number}" for number in range(requests)]
    chosen = [{"cel": {"expression": one}} for one in selectors]
    configs = [
        {
            "requests": [name],
            "opaque": {
                "driver": DRIVER_NAME,
                "parameters": {
                    "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
                    "kind": "CNI",
                    "ifName": f"net{number}",
                    "config": {
                        "cniVersion": "1.0.0",
                        "name": f"lan{number}",
                        "plugins": [{"type": "macvlan", "mode": "bridge", "ipam": RANGES}],
                    },
                },
            },
        }
        for number, name in enumerate(names)
    ]
    wanted = [
        {"name": name, "exactly": {"deviceClassName": "net", "selectors": chosen}} for name in names
    ]
    spec = {"devices": {"requests": wanted, "config": configs, **devices}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": spec},
    }


def pod_spec(**more: Any) -> dict[str, Any]:
    """A pod with a claim of the template."""
    return {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "n", "resourceClaimTemplateName": "t"}],
        **more,
    }


def pod(**more: Any) -> dict[str, Any]:
    """The pod p."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod_spec(**more)}


def workload(version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """What makes pods."""
    labels = {"app": name}
    made = {"metadata": {"labels": labels}, "spec": pod_spec(**spec.pop("pod", {}))}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    body = {"template": made, **selector, **spec}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": body}


def run(tmp_path: Path, *objects: Any, topology: str = "", options: tuple[str, ...] = ()) -> Any:
    """The outcome of a trial, as a program reads it."""
    if topology:
        file = tmp_path / "t.yaml"
        file.write_text(topology)
        options = (*options, "--topology", str(file))
    text = yaml.safe_dump_all([CLASS, *objects])
    done = netclaim("try", "-f", "-", "-o", "json", *options, stdin=text)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["summary"]["ready"] == found["summary"]["pods"] else 1)
    return found


def test_every_kind_of_workload_runs(tmp_path: Path) -> None:
    """Ordinals in their order, one pod on each node that takes it, as many as a Job runs."""
    found = run(
        tmp_path,
        template(f'{attribute("name")} == "eth1"'),
        workload("apps/v1", "StatefulSet", "db", {"replicas": 3}),
        workload("apps/v1", "DaemonSet", "agent", {"pod": {"nodeSelector": {"zone": "z"}}}),
        workload("batch/v1", "Job", "train", {"parallelism": 2, "pod": {"restartPolicy": "Never"}}),
        topology=FAMILIES,
    )
    assert found["summary"] == {
        "pods": 6, "ready": 6, "starting": 0, "stopped": 0, "interfaces": 6, "devices": 0,
    }  # fmt: skip
    assert [one["name"] for one in found["pods"] if one["owner"] == "StatefulSet db"] == [
        "db-0", "db-1", "db-2",
    ]  # fmt: skip
    assert {one["node"] for one in found["pods"]} == {"beta"}


def test_one_address_on_two_nodes_is_an_error(tmp_path: Path) -> None:
    """The same range on two nodes of one network gives one address twice, which is reported."""
    daemons = workload("apps/v1", "DaemonSet", "agent", {})
    only = template(f'{attribute("name")} == "eth0"')
    only["spec"]["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    found = run(tmp_path, only, daemons, topology=FAMILIES)
    assert [one["stage"] for one in found["pods"]] == ["address", "address"]
    assert "10.10.1.2 on network main is used by" in found["pods"][0]["reason"]
    assert "host-local knows only" in found["pods"][0]["reason"]


@pytest.mark.parametrize("topology", [FAMILIES, IPV6])
def test_nodes_with_ipv6(tmp_path: Path, topology: str) -> None:
    """A cluster with both families, or with IPv6 alone, runs pods as any other."""
    claims = template(f'{attribute("name")} == "eth1"')
    found = run(tmp_path, claims, pod(), topology=topology)
    assert found["pods"][0]["interfaces"][0]["ips"] == ["10.10.1.2/24"]


def test_links_have_their_mtu_and_nodes_their_labels(tmp_path: Path) -> None:
    """Selectors and affinity see what the topology says."""
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    found = run(
        tmp_path,
        template(f"{attribute('mtu')} == 9000"),
        pod(affinity={"nodeAffinity": required}),
        topology=FAMILIES,
    )
    assert [(one["node"], one["ready"]) for one in found["pods"]] == [("beta", True)]


def test_links_look_like_hardware(tmp_path: Path) -> None:
    """Two links of one PCIe root are found by what the topology pretends."""
    root = "resource.kubernetes.io/pcieRoot"
    two_links = {"distinctAttribute": f"{DRIVER_NAME}/ifName"}
    claims = template(
        f"{attribute('speed')} >= 25000",
        requests=2,
        constraints=[{"matchAttribute": root}, two_links],
    )
    found = run(tmp_path, claims, pod(), topology=CARDS)
    devices = sorted(one["device"] for one in found["pods"][0]["interfaces"])
    assert devices == ["eth2", "eth3"], json.dumps(found)
    fast = template(f"{attribute('rdma')} && {attribute('rdmaDevice')} == 'mlx5_0'")
    found = run(tmp_path, fast, pod(), topology=CARDS)
    devices = [one["device"] for one in found["pods"][0]["interfaces"]]
    assert devices == ["eth1"], json.dumps(found)


def test_a_gpu_and_a_card_of_one_root(tmp_path: Path) -> None:
    """One claim for two drivers gets the card that is on the GPU's root, not the first card."""
    examples = Path(__file__).parents[3] / "examples"
    objects = list(yaml.safe_load_all((examples / "gpu-nic.yaml").read_text()))
    gpus = f"gpu.example.com={examples / 'gpu.py'} --gpus 1 --pcie-root pci0000:3a"
    found = run(tmp_path, *objects, topology=CARDS, options=("--driver-program", gpus))
    ready = [one for one in found["pods"] if one["ready"]]
    devices = [interface["device"] for one in ready for interface in one["interfaces"]]
    assert devices == ["eth2"], json.dumps(found)
    (gpu,) = ready[0]["devices"]
    assert (gpu["name"], gpu["containers"]) == ("gpu-0", ["main"])
    assert "GPU_DEVICE_0=gpu-0" in gpu["env"], json.dumps(found)
    (waiting,) = (one for one in found["pods"] if not one["ready"])
    assert "gpu" in waiting["reason"], json.dumps(found)


def test_a_driver_of_netclaim_new(tmp_path: Path) -> None:
    """The files of a new driver run as they are: its pod gets a device."""
    program, manifest, _ = start_driver("lamp.example.com", tmp_path / "lamp")
    objects = list(yaml.safe_load_all(manifest.read_text()))
    found = run(
        tmp_path, *objects, topology=ONE,
        options=("--driver-program", f"lamp.example.com={program}"),
    )  # fmt: skip
    assert [one["ready"] for one in found["pods"]] == [True], json.dumps(found)


def test_what_gpus_can_do(tmp_path: Path) -> None:
    """The demos of shares, partitions, alternatives, taints, extended resources, admin access."""
    examples = Path(__file__).parents[3] / "examples"
    objects = list(yaml.safe_load_all((examples / "gpu-demos.yaml").read_text()))
    gpus = (
        f"gpu.example.com={examples / 'gpu.py'} --shared gpu-4 --partitioned gpu-5"
        " --unhealthy gpu-6 --checked gpu-7"
    )
    found = run(tmp_path, *objects, topology=ONE, options=("--driver-program", gpus))
    reasons = {one["name"]: one["reason"] for one in found["pods"] if not one["ready"]}
    assert reasons.keys() == {"too-much", "wary"}, json.dumps(found)
    assert "counter gpu-5/memory" in reasons["too-much"]
    assert "taint gpu.example.com/unhealthy=true:NoSchedule is not tolerated" in reasons["wary"]


def test_value_that_was_found_is_shown(tmp_path: Path) -> None:
    """A pod that no node fits is told what each device has instead."""
    found = run(tmp_path, template(f"{attribute('mtu')} == 1234"), pod(), topology=FAMILIES)
    reason = found["pods"][0]["reason"]
    assert "mtu == 1234` is false: alpha (" in reason
    assert "eth0: 1500, eth1: 9000)" in reason


def test_timeout_ends_the_command() -> None:
    """A trial that has no time left ends, and counts what was still starting."""
    claims = template(f'{attribute("name")} == "eth1"')
    big = workload("apps/v1", "Deployment", "web", {"replicas": 40})
    text = yaml.safe_dump_all([CLASS, claims, big])
    done = netclaim("try", "-f", "-", "--timeout", "0.01", stdin=text)
    assert done.returncode == 1
    assert "the cluster was not ready after 0.01 s (--timeout)" in done.stderr


NETWORKS = """\
apiVersion: v1
kind: Namespace
metadata: {name: media, labels: {team: media}}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: v1
kind: PodNetwork
metadata: {name: media-net}
spec:
  type: macvlan
  parent: {name: eth1}
  ipam: {type: host-local, ranges: [[{subnet: 10.10.1.0/24}]]}
  namespaces: {matchLabels: {team: media}}
  allow: [ips]
"""


def network_pod(namespace: str, template: str) -> dict[str, Any]:
    """A pod that names a template, and nothing else."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "app", "namespace": namespace},
        "spec": {
            "containers": [{"name": "app", "image": "none"}],
            "resourceClaims": [{"name": "media", "resourceClaimTemplateName": template}],
        },
    }


def test_a_pod_names_a_network_and_that_is_all(tmp_path: Path) -> None:
    """A PodNetwork in the spelling of the talks; its interface has the network's name."""
    file = tmp_path / "network.yaml"
    file.write_text(f"{NETWORKS}---\n{yaml.dump(network_pod('media', 'media-net'))}")
    done = netclaim("try", "-f", str(file), "-o", "json")
    assert done.returncode == 0, done.stderr
    (pod,) = json.loads(done.stdout)["pods"]
    (interface,) = pod["interfaces"]
    assert interface["name"] == "media-net"
    assert interface["ips"][0].startswith("10.10.1.")


def test_a_namespace_that_may_not_use_a_network_is_refused(tmp_path: Path) -> None:
    """It has no template of the network, and the driver refuses one that somebody writes there."""
    own = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "own", "namespace": "other"},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"name": "n", "exactly": {"deviceClassName": "media-net"}}]
                }
            }
        },
    }
    for template, told in (
        ("media-net", 'resourceclaimtemplate "media-net" not found'),
        ("own", "the namespace other may not use the network media-net"),
    ):
        file = tmp_path / f"{template}.yaml"
        text = "---\n".join(yaml.dump(each) for each in (own, network_pod("other", template)))
        file.write_text(f"{NETWORKS}---\n{text}")
        done = netclaim("try", "-f", str(file))
        assert done.returncode == 1
        assert told in done.stdout


POOLED = """\
apiVersion: cni.networking.x-k8s.io/v1alpha1
kind: AddressPool
metadata: {name: two}
spec: {ranges: [{cidr: 10.10.1.0/30}]}
---
apiVersion: cni.networking.x-k8s.io/v1alpha1
kind: PodNetwork
metadata: {name: media-net}
spec: {type: macvlan, parent: {name: eth1}, ipam: {type: netclaim, pool: two}}
"""
BOTH = """\
nodes: [alpha, beta]
networks:
- {name: main, subnet: 192.0.2.0/24, links: {alpha: eth0, beta: eth0}}
- {name: fast, links: {alpha: eth1, beta: eth1}}
"""


def test_two_nodes_lease_the_two_addresses_of_a_pool(tmp_path: Path) -> None:
    """One each, where host-local would have given both the first one."""
    claims = [{"name": "net", "resourceClaimTemplateName": "media-net"}]
    agents = workload("apps/v1", "DaemonSet", "agent", {"pod": {"resourceClaims": claims}})
    found = run(tmp_path, *yaml.safe_load_all(POOLED), agents, topology=BOTH)
    ips = sorted(ip for one in found["pods"] for each in one["interfaces"] for ip in each["ips"])
    assert ips == ["10.10.1.1/30", "10.10.1.2/30"]
    assert {one["node"] for one in found["pods"]} == {"alpha", "beta"}


def test_a_pod_more_than_a_pool_has_addresses_gets_no_node(tmp_path: Path) -> None:
    """The scheduler knows that the pool is full, and says so; the others run."""
    claims = [{"name": "net", "resourceClaimTemplateName": "media-net"}]
    cameras = workload("apps/v1", "Deployment", "camera", {"pod": {"resourceClaims": claims}})
    cameras["spec"]["replicas"] = 3
    found = run(tmp_path, *yaml.safe_load_all(POOLED), cameras, topology=BOTH)
    waiting = [one for one in found["pods"] if not one["interfaces"]]
    ips = sorted(ip for one in found["pods"] for each in one["interfaces"] for ip in each["ips"])
    assert ips == ["10.10.1.1/30", "10.10.1.2/30"]
    assert [one["node"] for one in waiting] == [""]
    assert "the pool two has no free address: 2 claims have one, 0 of 2 free" in str(waiting)
