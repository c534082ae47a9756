"""Convert objects that Multus reads into networks and claims, all of them as one set.

Claims and classes for dranet are converted beside them (`dranet`).

Promise: a NetworkAttachmentDefinition gives one PodNetwork, however many pods use it, with the name
that any other set of files gives it: its own in the namespace `default`, elsewhere with the
namespace in front. It is for its own namespace and for those whose pods use it here. A pod has one
claim for each network. What cannot be converted stays as it is, for Multus, with a remark. No I/O.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from netclaim.convert.documents import Replacement
from netclaim.convert.dranet.claims import asks_dranet, dranets_classes, names_dranet
from netclaim.convert.dranet.claims import converted as converted_claim
from netclaim.convert.multus.definition import (
    RESOURCE_NAME,
    Definition,
    NetworkKey,
    UnconvertedError,
    is_definition,
    read_definition,
)
from netclaim.convert.multus.plugins import cleaned
from netclaim.convert.multus.strangers import remarks_on
from netclaim.convert.multus.workloads import Wanted, annotations_of, read_wanted, with_claims
from netclaim.convert.places import TextField
from netclaim.convert.remarks import Remark, about, within
from netclaim.convert.whereabouts.ipam_keys import named, networks_of, with_pool
from netclaim.convert.whereabouts.reservations import read_reserved
from netclaim.convert.written.choices import choose, ifname_fault
from netclaim.convert.written.network import Network, network_spec
from netclaim.convert.written.pools import Pools, pool_name
from netclaim.convert.written.templates import claim_entries
from netclaim.errors import RequestError
from netclaim.manifests.kinds import POD_SPECS
from netclaim.manifests.objects import DEFAULT, Object, inside
from netclaim.model.api.own_kinds.pod_network import ALLOWABLE, NAME_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import IpNetwork
from netclaim.paths import Key

FIRST_IFNAME: Final = "net1"  # as Multus calls a pod's first


@dataclass(frozen=True, slots=True)
class Conversion:
    """What takes the place of objects, and what to say about it."""

    replacements: Mapping[Object, Replacement]
    remarks: tuple[Remark, ...]
    networks: int = 0
    workloads: int = 0
    pools: int = 0  # of addresses that were whereabouts'
    claims: int = 0  # and classes and templates, that were for dranet
    unmatched: tuple[IpNetwork, ...] = ()  # taken from whereabouts, but in no pool


def convert_objects(
    objects: Sequence[Object],
    namespace: str = "",
    taken: Sequence[IpNetwork] = (),
    unread: str = "",
) -> Conversion:
    """Convert everything that Multus reads.

    With a namespace, only what is in it or used from it is converted. The others still count as
    users of a network, so that it stays theirs too. With addresses that are `taken` from
    whereabouts, pools have these, and whereabouts goes on with the rest. `unread` says why it is
    not known what pods have from it.
    """
    here = dict.fromkeys(one for one in objects if namespace in ("", one.namespace))
    remarks: list[Remark] = []
    wanted = list(_wanted(here, remarks))
    others = [] if len(here) == len(objects) else list(_wanted(objects, []))
    used = {key for one in wanted for key in one.networks}
    pools = Pools()
    definitions = dict(
        _definitions((one for one in objects if one in here or _key(one) in used), pools, remarks)
    )
    networks = _networks(definitions, others or wanted)
    unmatched = pools.unmatched(taken)
    results = [(one.one, _converted(one, networks, remarks)) for one in wanted]
    workloads = {one: found for one, found in results if found is not None}
    remarks += pools.leave_to_pods(
        [] if pools.is_empty else read_reserved(objects, remarks, unread),
        list(networks_of(objects)),
        taken,
        [one for one, (_, left) in workloads.items() if not left],
    )
    made = dict(pools.objects())
    unwritten = dict(made)
    replacements = {
        definitions[key].one: Replacement(network.to_dict(), _first_time(pools.of(key), unwritten))
        for key, network in networks.items()
    }
    replacements |= {one: replacement for one, (replacement, _) in workloads.items()}
    classes = dranets_classes(objects)
    of_dranet = [one for one in here if names_dranet(one) or asks_dranet(one, classes)]
    for claim in of_dranet:
        changed, said = converted_claim(claim, classes)
        remarks += said
        replacements[claim] = Replacement(changed)
    counts = len(networks), len(workloads), len(made), len(of_dranet)
    return Conversion(replacements, tuple(remarks), *counts, unmatched)


def _first_time(name: str, unwritten: dict[str, JsonObject]) -> tuple[JsonObject, ...]:
    """Return a pool for the first network that has it, and nothing for the others."""
    return (unwritten.pop(name),) if name in unwritten else ()


def _key(one: Object) -> NetworkKey:
    return one.namespace, one.name


def network_name(key: NetworkKey) -> str:
    """Return the name of the PodNetwork, which has no namespace."""
    namespace, name = key
    return name if namespace == DEFAULT else f"{namespace}-{name}"


def name_fault(key: NetworkKey) -> str:
    """Return why a PodNetwork cannot have the name; empty if it can."""
    name = network_name(key)
    if "." not in name and len(name) <= NAME_MAX:
        return ""
    return (
        f'would have the name "{name}", but the name of a PodNetwork is a DNS label of at most'
        f" {NAME_MAX} characters; rename it"
    )


def _definitions(
    objects: Iterable[Object], pools: Pools, remarks: list[Remark]
) -> Iterator[tuple[NetworkKey, Definition]]:
    """Yield the definitions that can be converted."""
    names: dict[str, NetworkKey] = {}
    for one in objects:
        if not is_definition(one):
            continue
        text = TextField(one, ("spec", "config"))
        try:
            found = read_definition(one)
            text = found.text
            _check_name(found, names)
            found, draft, of_pool = with_pool(found)
            if draft is not None:
                found = named(found, pool_name(draft))
            found, said = cleaned(found)
            network_spec(found)
            if draft is not None:  # last, so that a network that stays with Multus has no pool
                pools.add(found, draft)
        except UnconvertedError as error:
            remarks.append(within(text, error.path, error.message, lost=True))
            continue
        remarks += [*of_pool, *said, *_device_plugin(one)]
        yield found.key, found


def _check_name(found: Definition, names: dict[str, NetworkKey]) -> None:
    name = network_name(found.key)
    if not found.one.name:
        raise UnconvertedError("has no name; write metadata.name")
    if fault := name_fault(found.key):
        raise UnconvertedError(fault)
    if names.get(name) == found.key:
        raise UnconvertedError(f"{'/'.join(found.key)} is defined twice; remove one")
    if name in names:
        raise UnconvertedError(
            f'{"/".join(names[name])} has the name "{name}" as a PodNetwork too; rename one of them'
        )
    names[name] = found.key


def _device_plugin(one: Object) -> Iterator[Remark]:
    path = ("metadata", "annotations")
    if RESOURCE_NAME in inside(one.object, path):
        yield about(
            one,
            (*path, Key(RESOURCE_NAME)),
            "has no effect: the scheduler allocates the network's link; remove this resource from"
            " the requests of its pods",
        )


def _wanted(objects: Iterable[Object], remarks: list[Remark]) -> Iterator[Wanted]:
    """Yield the workloads whose pods want networks."""
    for one in objects:
        if one.kind not in POD_SPECS or not one.is_known:
            remarks += [] if is_definition(one) else remarks_on(one)
            continue
        try:
            found = read_wanted(one)
        except RequestError as error:
            text = TextField(one, (*annotations_of(one), Key("k8s.v1.cni.cncf.io/networks")))
            remarks.append(within(text, error.path, error.message, lost=True))
            continue
        remarks += remarks_on(one)
        if found is not None:
            yield found


def _networks(
    definitions: Mapping[NetworkKey, Definition], wanted: Sequence[Wanted]
) -> dict[NetworkKey, Network]:
    """Return the networks, for those who use them."""
    ifnames: dict[NetworkKey, Counter[str]] = {key: Counter() for key in definitions}
    namespaces: dict[NetworkKey, set[str]] = {key: {key[0]} for key in definitions}
    chosen: dict[NetworkKey, set[str]] = {key: set() for key in definitions}
    for one in wanted:
        for key, selection, ifname in zip(one.networks, one.selections, one.ifnames, strict=True):
            if key in definitions:
                ifnames[key][ifname] += 1
                namespaces[key].add(one.one.namespace)
                chosen[key] |= selection.choices.keys()
    return {
        key: Network(
            definition,
            network_name(key),
            min(ifnames[key], key=lambda name: (-ifnames[key][name], name), default=FIRST_IFNAME),
            tuple(name for name in ALLOWABLE if name in chosen[key] | definition.capabilities),
            tuple(sorted(namespaces[key])),
        )
        for key, definition in definitions.items()
    }


def _converted(
    wanted: Wanted, networks: Mapping[NetworkKey, Network], remarks: list[Remark]
) -> tuple[Replacement, list[int]] | None:
    """Return a workload with claims, and what is left to Multus; None if all its networks are."""
    taken: dict[int, Network] = {}
    left: list[int] = []
    for index, selection in enumerate(wanted.selections):
        key = wanted.networks[index]
        fault = ifname_fault(wanted, index)
        if key in networks and not fault:
            taken[index] = networks[key]
            continue
        left.append(index)
        missing = f"{'/'.join(key)} is not a NetworkAttachmentDefinition that is converted here"
        place = (*selection.at, "interface" if key in networks else "name") if selection.at else ()
        remarks.append(within(wanted.text, place, fault or missing, lost=True))
    if not taken:
        return None
    choices = {index: choose(wanted, index, network) for index, network in taken.items()}
    for choice in choices.values():
        remarks += choice.remarks
    entries, templates = claim_entries(wanted, taken, choices)
    return Replacement(with_claims(wanted, entries, left), templates), left
