"""PodNetworks and their classes for the tests of drivers."""

from pathlib import Path
from typing import Any

from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.network.networks.known import KnownNetworks
from netclaim.network.pod_network import class_of
from tests.support.network_parts import DRIVER

MACVLAN: dict[str, Any] = {"type": "macvlan", "parent": {"name": "eth1"}}


def network(name: str = "media-net", **spec: Any) -> PodNetwork:
    """A macvlan on eth1, with these fields instead of the usual ones."""
    return PodNetwork.read({"metadata": {"name": name}, "spec": {**MACVLAN, **spec}})


def class_for(found: PodNetwork) -> JsonObject:
    """The class that the controller keeps for a network."""
    return class_of(found, DRIVER)


def known(*networks: PodNetwork, path: Path = Path("/nowhere/networks.json")) -> KnownNetworks:
    """What a driver knows of a cluster with these networks."""
    made = KnownNetworks(path)
    made.learn(map(class_for, networks))
    return made
