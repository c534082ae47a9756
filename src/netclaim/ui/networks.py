"""Which network each claim is on: a PodNetwork, or what its configuration calls its network.

Promise: a network that a tenant names never passes for one of an admin: their keys differ. No I/O.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.own_kinds.pod_network import KIND, PodNetwork
from netclaim.plain_text import one_line, sentence
from netclaim.survey.claim_networks import config_of, first_plugin
from netclaim.ui.values import Network

NAME_MAX: Final = 64  # characters of a name that a tenant chose


@dataclass(frozen=True, slots=True)
class Networks:
    """The networks by their keys, and the key of each claim's."""

    pieces: Mapping[str, Network]
    of_claims: Mapping[tuple[str, str], str]


def networks_of(objects: Iterable[Mapping[str, Any]], claims: Iterable[ResourceClaim]) -> Networks:
    """Return the networks of a cluster, those without claims too if an admin offers them."""
    offered = _offered(objects)
    of_claims: dict[tuple[str, str], str] = {}
    named: dict[str, tuple[str, str]] = {}
    for claim in claims:
        key = next((network_key(name) for name in claim.classes if name in offered), "")
        if not key and (found := _named(claim)) is not None:
            key = f"network/named/{found[0]}"
            named.setdefault(key, found)
        if key:
            of_claims[claim.metadata.namespace, claim.metadata.name] = key
    counts = Counter(of_claims.values())
    pieces = {
        network_key(name): _piece(one, counts[network_key(name)]) for name, one in offered.items()
    }
    pieces |= {
        key: Network(name=name, kind=kind, claims=counts[key])
        for key, (name, kind) in named.items()
    }
    return Networks(pieces, of_claims)


def _offered(objects: Iterable[Mapping[str, Any]]) -> dict[str, PodNetwork]:
    found: dict[str, PodNetwork] = {}
    for one in objects:
        if one.get("kind") == KIND:
            try:
                network = PodNetwork.read(one)
            except ObjectError:
                continue  # the API's rules refuse it; it has no class either
            found[network.name] = network
    return found


def network_key(name: str) -> str:
    return f"network/offered/{name}"


def pool_key(name: str) -> str:
    return f"pool/{name}"


def _piece(network: PodNetwork, claims: int) -> Network:
    spec, ready = network.spec, network.ready
    about = (
        spec.type,
        f"on {spec.parent.name}" if spec.parent.name else "",
        f"VLAN {spec.vlan}" if spec.vlan else "",
        "" if spec.enabled else "switched off",
    )
    return Network(
        name=network.name,
        kind=KIND,
        about=tuple(one_line(text) for text in about if text),
        ready=None if ready is None else ready.status == "True",
        message=sentence(ready.message) if ready is not None and ready.status != "True" else "",
        claims=claims,
        pool=_pool_of(spec.ipam),
    )


def _pool_of(ipam: Any) -> str:
    """Return the key of the AddressPool that a network's addresses are of, if they are of one."""
    ours = isinstance(ipam, Mapping) and ipam.get("type") == "netclaim"
    name = ipam.get("pool") if ours else None
    return pool_key(name) if isinstance(name, str) and name else ""


def _named(claim: ResourceClaim) -> tuple[str, str] | None:
    """Return the name and the type of the network that a claim's configuration describes."""
    for given in claim.status.results:
        config = config_of(claim, given)
        kind = first_plugin(config).get("type")
        if isinstance(kind, str):
            name = config.get("name")
            text = name if isinstance(name, str) and name else kind
            return one_line(text[:NAME_MAX]), one_line(kind[:NAME_MAX])
    return None
