"""Judge PodNetworks in manifests, and add what the controller would make of them, or say why not.

Pods and templates in the files name a network's class and templates, which nobody writes. A
namespace whose labels the files do not show is taken to be one that may use every network. The
classes of AddressPools are added, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import DEFAULT, Object, ObjectKey, inside
from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.address_pool import KIND as POOL_KIND
from netclaim.model.api.own_kinds.pod_network import KIND, TYPES, PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.network.devices.pool_device import pool_class
from netclaim.network.judge.pod_network import network_faults
from netclaim.network.pod_network import class_of, template_of
from netclaim.schema.defaults import NAME_LABEL


def check_network(subject: Object) -> Iterator[Finding]:
    """Yield what the drivers would refuse of a network."""
    network = _read(subject)
    if network is None:
        return
    for fault in network_faults(network, DRIVER_NAME):
        yield subject.error(fault.path, fault.message)


def made_of_networks(subjects: Sequence[Object]) -> list[Object]:
    """The classes and templates that the controller would make, unless the files have them."""
    made: dict[ObjectKey, Object] = {}
    for subject in subjects:
        for each in _made(subject, subjects):
            made.setdefault(each.key, each)
    there = {subject.key for subject in subjects}
    return [each for key, each in made.items() if key not in there]


def withheld(subjects: Sequence[Object]) -> dict[ObjectKey, str]:
    """The templates of networks that the controller would not make, each with the reason."""
    reasons: dict[ObjectKey, str] = {}
    for subject in subjects:
        network = _read(subject)
        if network is None:
            continue
        for namespace, may_use in _namespaces(network, subjects):
            key = ObjectKey("ResourceClaimTemplate", namespace, network.name)
            if not network.spec.enabled:
                reasons[key] = f"the PodNetwork {network.name} is switched off; set spec.enabled"
            elif not may_use:
                reasons[key] = (
                    f"the namespace {namespace} may not use the network {network.name}; give it "
                    f"the labels that spec.namespaces of the PodNetwork {network.name} selects"
                )
    return reasons


def _made(subject: Object, subjects: Iterable[Object]) -> Iterator[Object]:
    if subject.kind == POOL_KIND:
        yield _as(subject, pool_class(subject.name, DRIVER_NAME))
    network = _read(subject)
    if network is None or not network.spec.enabled:
        return
    yield _as(subject, class_of(network, DRIVER_NAME))
    for namespace, may_use in _namespaces(network, subjects):
        if may_use:
            yield _as(subject, template_of(network, namespace))


def _namespaces(network: PodNetwork, subjects: Iterable[Object]) -> Iterator[tuple[str, bool]]:
    """The namespaces of the files, each with whether it may use a network."""
    labels: dict[str, JsonObject] = {}
    names = {DEFAULT}
    for one in subjects:
        if one.kind == "Namespace":
            named = {NAME_LABEL: one.name}  # which the API server gives it
            labels[one.name] = inside(one.object, ("metadata", "labels")) | named
        elif one.namespace:
            names.add(one.namespace)
    for name in sorted(names):
        yield name, name not in labels or network.spec.namespaces.selects(labels[name])


def _as(subject: Object, made: JsonObject) -> Object:
    return replace(subject, object=made, written=made, remarks=())


def _read(subject: Object) -> PodNetwork | None:
    """A PodNetwork; None for anything else, and for what the API's rules refuse."""
    if subject.kind != KIND:
        return None
    try:
        network = PodNetwork.read(subject.object)
    except ObjectError:
        return None
    return network if network.is_ours and network.spec.type in TYPES else None
