"""What can be set about the network driver, with the reason for each default."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netclaim.network.node import Network
from netclaim.network.pod_namespaces import POD_NETNS
from netclaim.network.policy import Level

__all__ = ["DRIVER_NAME", "LinkSettings"]

DRIVER_NAME: Final = "cni.dra.networking.x-k8s.io"  # what manifests in the wild say


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """Everything the driver needs beside the framework's own settings."""

    state_dir: Path
    """A directory of the driver's own that survives restarts: CNI results, devices lent to pods."""

    lease_dir: Path = Path("/var/lib/cni/netclaim")
    """Where plugins keep leases for claims, in a directory of the driver's name. Apart from the
    state, so that addresses which pods have stay taken should that be lost; and apart from where
    the primary network keeps its own."""

    runtime_results: Path = Path("/var/lib/cni/results")
    """Where runtimes keep the CNI results of their own networks. Plugins of a network whose name
    is among them are not told to collect garbage: they would take the runtime's for ours."""

    name: str = DRIVER_NAME
    """The driver's name, by which classes, claims and slices refer to it."""

    cni_path: tuple[str, ...] = ("/opt/cni/bin",)
    """Directories that hold CNI plugins, as runtimes have it."""

    exec_plugins: tuple[str, ...] = ()
    """Plugin types to execute as programs although we have them in process."""

    generic_device: bool = True
    """Whether to offer the device that is no particular link, for claims that ask for none."""

    shared_links: tuple[str, ...] = ()
    """Patterns of links' names that any number of claims may have at a time, each with something
    of its own on the link. The others are for one claim at a time: a claim may take a link away."""

    policy: Level = Level.BASELINE
    """The policy level of namespaces that have no label for it."""

    policy_ceiling: Level = Level.PRIVILEGED
    """The highest policy level on this node, whatever a namespace's label says."""

    claim_plugins: frozenset[str] = frozenset()
    """Plugin types, programs of the node, that claims may name below `privileged`."""

    pod_networks: tuple[Network, ...] = ()
    """The addresses of this node's pods, if known: links that have one of them are not offered."""

    pod_netns: tuple[str, ...] = POD_NETNS
    """Patterns of the paths of pods' namespaces: links that lead into one are not offered."""

    add_s: float = 25.0
    """How long a CNI ADD may take. The framework gives an attach 30 s; being stopped before that
    lets the error name the plugin. A DHCP server is asked for ten seconds at most."""

    undo_s: float = 3.0
    """How long the DEL after a failed ADD may take at once: what is left of an attach's time. One
    that takes longer is repeated in the background."""

    plugin_s: float = 30.0
    """How long one plugin may run where no hook waits for it: a DEL that is repeated."""
