"""Find what keeps a Service from having the endpoints of the network that it names.

What the controller would refuse is an error; what will not work nevertheless, or leads out of the
files, is a warning. Services that name no network are not judged.
"""

from collections.abc import Iterator

from netclaim.check.references import not_in_files
from netclaim.manifests.finding import Finding
from netclaim.manifests.objects import Index, Object
from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.pod_network import KIND as NETWORK_KIND
from netclaim.model.api.service import Service
from netclaim.paths import Path
from netclaim.schema.network_service import (
    ANNOTATIONS,
    LABELS,
    NETWORK,
    UPSTREAM_NAME,
    network_service,
)


def check_service(subject: Object, index: Index) -> Iterator[Finding]:
    """Yield what is wrong with a Service that names a network."""
    try:
        service = Service.read(subject.object)
    except ObjectError:
        return
    named = network_service(service)
    if named is None:
        return
    for fault in named.faults:
        yield subject.error(fault.path, fault.message)
    if named.doubt:
        yield subject.warning(("spec", "clusterIP"), named.doubt)
    own = NETWORK in service.metadata.annotations
    path: Path = (*ANNOTATIONS, NETWORK) if own else (*LABELS, UPSTREAM_NAME)
    if named.network and not index.find(NETWORK_KIND, named.network, near=subject):
        yield not_in_files(subject, path, NETWORK_KIND, index)
