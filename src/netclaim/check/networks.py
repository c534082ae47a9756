"""Judge PodNetworks in manifests, and add what the controller would make of them.

Pods and templates in the files name a network's class and templates, which nobody writes. A
namespace whose labels the files do not show is taken to be one that may use every network.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import DEFAULT, Object, ObjectKey, inside
from netclaim.model.api.base import ObjectError
from netclaim.model.api.pod_network import KIND, PodNetwork
from netclaim.model.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.network.judge.pod_network import network_faults
from netclaim.network.pod_network import class_of, template_of


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


def _made(subject: Object, subjects: Iterable[Object]) -> Iterator[Object]:
    network = _read(subject)
    if network is None or not network.spec.enabled:
        return
    yield _as(subject, class_of(network, DRIVER_NAME))
    labels = {
        one.name: inside(one.object, ("metadata", "labels"))
        for one in subjects
        if one.kind == "Namespace"
    }
    for namespace in sorted({DEFAULT, *(one.namespace for one in subjects if one.namespace)}):
        if namespace not in labels or network.spec.namespaces.selects(labels[namespace]):
            yield _as(subject, template_of(network, namespace))


def _as(subject: Object, made: JsonObject) -> Object:
    return replace(subject, object=made, written=made, remarks=())


def _read(subject: Object) -> PodNetwork | None:
    """A network of ours; None for anything else, and for what the API's rules refuse."""
    if subject.kind != KIND:
        return None
    try:
        network = PodNetwork.read(subject.object)
    except ObjectError:
        return None
    return network if network.is_ours and network.spec.type else None
