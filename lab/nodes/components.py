"""What runs on a lab's nodes: each component's command line and its configuration files.

This only describes: files as text, commands as lists. `lab.cluster` starts and watches them.
Settings that a release's defaults would not give carry their reason.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from lab.images.oci import PAUSE_IMAGE
from lab.nodes import cgroups
from lab.nodes.pki import Authority, kubeconfig
from lab.parts.binaries import Binaries
from lab.parts.releases import Release
from lab.topology import Topology

__all__ = ["API_PORT", "Component", "control_plane", "node_components", "node_files", "write_pki"]

API_PORT = 443  # the port of the `kubernetes` service too, so that its address needs no translation
SERVICE_SUBNET = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"  # the first of it
PKI = "/etc/kubernetes/pki"


@dataclass(frozen=True, slots=True)
class Component:
    """One program on one node."""

    name: str
    node: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """NODE/NAME, unique in the lab."""
        return f"{self.node}/{self.name}"


def _command(program: Path, **flags: str | int) -> tuple[str, ...]:
    return (str(program), *(f"--{name.replace('_', '-')}={value}" for name, value in flags.items()))


def write_pki(authority: Authority, topology: Topology) -> None:
    """Write every certificate of the cluster into the authority's directory."""
    address = topology.address(topology.control_plane)
    names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"]
    hosts = [topology.control_plane, address, API_SERVICE, "127.0.0.1", *names]
    authority.issue("kube-apiserver", "kube-apiserver", hosts=hosts)
    authority.issue("kubelet-client", "kube-apiserver-kubelet-client", ["system:masters"])
    authority.issue("admin", "lab-admin", ["system:masters"])
    for component in ("kube-controller-manager", "kube-scheduler"):
        authority.issue(component, f"system:{component}")
    for node in topology.nodes:
        hosts = [node, topology.address(node)]
        authority.issue(f"kubelet-{node}", f"system:node:{node}", ["system:nodes"], hosts)
    authority.key_pair("service-account")


def control_plane(topology: Topology, binaries: Binaries) -> list[Component]:
    """Return etcd, API server, controller manager and scheduler, in the order of their start."""
    node = topology.control_plane
    release = binaries.release
    gates = _gates(release)
    commands = (
        _etcd(binaries),
        (*_apiserver(topology, binaries, release), *gates),
        (*_controller_manager(binaries), *gates),
        (*_scheduler(binaries), *gates),
    )
    return [Component(Path(command[0]).name, node, command) for command in commands]


def _gates(release: Release) -> tuple[str, ...]:
    gates = (f"{name}={str(on).lower()}" for name, on in release.feature_gates.items())
    return (f"--feature-gates={','.join(gates)}",) if release.feature_gates else ()


def _etcd(binaries: Binaries) -> tuple[str, ...]:
    client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
    flags = _command(
        binaries.path("etcd"),
        name="lab",
        data_dir="/var/lib/etcd",
        listen_client_urls=client,
        advertise_client_urls=client,
        listen_peer_urls=peer,
        initial_advertise_peer_urls=peer,
        initial_cluster=f"lab={peer}",
        log_level="warn",
    )
    return (*flags, "--unsafe-no-fsync")  # a lab's data need not survive the machine's power


def _apiserver(topology: Topology, binaries: Binaries, release: Release) -> tuple[str, ...]:
    return _command(
        binaries.path("kube-apiserver"),
        etcd_servers="http://127.0.0.1:2379",
        secure_port=API_PORT,
        bind_address="0.0.0.0",  # of the node's own namespace; nobody else's
        advertise_address=topology.address(topology.control_plane),
        service_cluster_ip_range=SERVICE_SUBNET,
        tls_cert_file=f"{PKI}/kube-apiserver.crt",
        tls_private_key_file=f"{PKI}/kube-apiserver.key",
        client_ca_file=f"{PKI}/ca.crt",
        kubelet_client_certificate=f"{PKI}/kubelet-client.crt",
        kubelet_client_key=f"{PKI}/kubelet-client.key",
        kubelet_certificate_authority=f"{PKI}/ca.crt",
        kubelet_preferred_address_types="InternalIP",  # node names resolve nowhere here
        service_account_issuer="https://kubernetes.default.svc",
        service_account_key_file=f"{PKI}/service-account.pub",
        service_account_signing_key_file=f"{PKI}/service-account.key",
        authorization_mode="Node,RBAC",
        enable_admission_plugins="NodeRestriction",
        runtime_config=release.runtime_config,
        allow_privileged="true",
        profiling="false",
    )


def _controller_manager(binaries: Binaries) -> tuple[str, ...]:
    config = "/etc/kubernetes/kube-controller-manager.conf"
    return _command(
        binaries.path("kube-controller-manager"),
        kubeconfig=config,
        authentication_kubeconfig=config,
        authorization_kubeconfig=config,
        service_account_private_key_file=f"{PKI}/service-account.key",
        root_ca_file=f"{PKI}/ca.crt",
        use_service_account_credentials="true",
        # Forty controllers ask for their accounts at the start; at the usual rate of 20 a second
        # that is half of a boot.
        kube_api_qps=200,
        kube_api_burst=400,
        leader_elect="false",  # there is one
        profiling="false",
    )


def _scheduler(binaries: Binaries) -> tuple[str, ...]:
    config = "/etc/kubernetes/kube-scheduler.conf"
    return _command(
        binaries.path("kube-scheduler"),
        kubeconfig=config,
        authentication_kubeconfig=config,
        authorization_kubeconfig=config,
        leader_elect="false",
        profiling="false",
    )


def node_components(
    topology: Topology, node: str, cgroup: str, binaries: Binaries
) -> list[Component]:
    """Return containerd and kubelet of a node, in the order of their start."""
    programs = {binaries.path(name).parent for name in ("containerd", "runc")}
    path = ":".join([*map(str, sorted(programs)), "/usr/sbin:/usr/bin:/sbin:/bin"])
    containerd = (str(binaries.path("containerd")), "--config", "/etc/containerd/config.toml")
    kubelet = _command(
        binaries.path("kubelet"),
        config="/etc/kubernetes/kubelet.yaml",
        kubeconfig="/etc/kubernetes/kubelet.conf",
        hostname_override=node,
        node_ip=topology.address(node),
        cgroup_root=cgroup,
        v=2,
    )
    return [
        Component("containerd", node, containerd, {"PATH": path}),
        Component("kubelet", node, kubelet, {"PATH": path}),
    ]


def node_files(topology: Topology, node: str, pki: Path, release: Release) -> dict[str, str]:
    """Return the configuration files of a node, by absolute path inside it."""
    server = f"https://{topology.address(topology.control_plane)}:{API_PORT}"
    files = {
        "/etc/hostname": f"{node}\n",
        "/etc/hosts": _hosts(topology),
        "/etc/containerd/config.toml": CONTAINERD_CONFIG,
        "/etc/cni/net.d/10-lab.conflist": json.dumps(_pod_network(topology, node), indent=2),
        "/etc/kubernetes/kubelet.yaml": yaml.safe_dump(_kubelet_config(release)),
        "/etc/kubernetes/kubelet.conf": kubeconfig(pki, f"kubelet-{node}", server, "lab"),
        f"{PKI}/ca.crt": (pki / "ca.crt").read_text(),
        f"{PKI}/kubelet.crt": (pki / f"kubelet-{node}.crt").read_text(),
        f"{PKI}/kubelet.key": (pki / f"kubelet-{node}.key").read_text(),
    }
    if node == topology.control_plane:
        for user in ("kube-controller-manager", "kube-scheduler"):
            files[f"/etc/kubernetes/{user}.conf"] = kubeconfig(pki, user, server, "lab")
        for pair in ("kube-apiserver", "kubelet-client"):
            for half in ("crt", "key"):
                files[f"{PKI}/{pair}.{half}"] = (pki / f"{pair}.{half}").read_text()
        for half in ("pub", "key"):
            name = f"service-account.{half}"
            files[f"{PKI}/{name}"] = (pki / name).read_text()
    return files


def _hosts(topology: Topology) -> str:
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    return "\n".join([*lines, *(f"{topology.address(n)} {n}" for n in topology.nodes), ""])


def _pod_network(topology: Topology, node: str) -> dict[str, object]:
    """Return the pods' primary network: a veth pair each, routed."""
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": topology.pod_subnet(node)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    return {
        "cniVersion": "1.0.0",
        "name": "lab-pods",
        "plugins": [{"type": "ptp", "ipMasq": False, "ipam": ipam}],
    }


def _kubelet_config(release: Release) -> dict[str, object]:
    settings: dict[str, object] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{PKI}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{PKI}/kubelet.crt",
        "tlsPrivateKeyFile": f"{PKI}/kubelet.key",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "clusterDNS": [],
        "resolvConf": "",  # no name service in the lab
        "cgroupDriver": "cgroupfs",  # no systemd inside a node
        "cgroupsPerQOS": True,
        "enforceNodeAllocatable": [],  # the machine is shared by all nodes
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,  # no kube-proxy, and perhaps no iptables
        "maxPods": 250,
        # a full disk of the machine is not the nodes' business
        "evictionHard": {
            "memory.available": "0%",
            "nodefs.available": "0%",
            "imagefs.available": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        # lets kubelet go on where a capability is missing or a kernel setting is not to be written
        "featureGates": {"KubeletInUserNamespace": True, **release.feature_gates},
    }
    if not cgroups.is_version_2():
        settings["failCgroupV1"] = False
    return settings


CONTAINERD_CONFIG = f"""\
version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{PAUSE_IMAGE}"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true # needs no capability
disable_apparmor = true

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false

[plugins."io.containerd.nri.v1.nri"]
disable = false
socket_path = "/var/run/nri/nri.sock"

[plugins."io.containerd.nri.v1.nri".default_validator]
enable = true # lets a pod name the plugins that it requires
"""
