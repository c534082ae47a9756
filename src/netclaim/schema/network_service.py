"""What a Service says of the network that it is for: which one, and which pods.

    metadata:
      annotations:
        cni.networking.x-k8s.io/network: media-net
        cni.networking.x-k8s.io/selector: app=media     labels of pods, as kubectl has them
    spec: {clusterIP: None}                             and no selector

A selector in `spec` would have Kubernetes publish the pods' primary addresses under the same name.
The labels and the selector of the upstream proof of concept are read too: there, `spec.selector`
has a label that no pod has. No I/O.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from netclaim.model.api.own_kinds.pod_network import GROUP as NETWORK_GROUP
from netclaim.model.api.own_kinds.pod_network import KIND
from netclaim.model.api.service import Service
from netclaim.paths import Path
from netclaim.schema.kinds import POD
from netclaim.schema.refusal import RefusedError
from netclaim.schema.selector import Term, parse_selector

NETWORK: Final = "cni.networking.x-k8s.io/network"
SELECTOR: Final = "cni.networking.x-k8s.io/selector"
UPSTREAM: Final = "multinetwork.networking.k8s.io/"
UPSTREAM_NAME: Final = f"{UPSTREAM}spec.podnetwork.name"
UPSTREAM_KIND: Final = f"{UPSTREAM}spec.podnetwork.kind"
UPSTREAM_NAMESPACE: Final = f"{UPSTREAM}spec.podnetwork.namespace"
DUMMY: Final = f"{UPSTREAM}dummy"  # in a selector: no pod has it, so Kubernetes finds none
# How a label may name our kind: as the proposals write it, by its group, or plainly.
KINDS: Final = ("", KIND, f"{NETWORK_GROUP.replace('.', '-')}-{KIND.lower()}")
SELECTOR_MAX: Final = 1024  # characters; reading one takes more than linear time

ANNOTATIONS: Final = ("metadata", "annotations")
LABELS: Final = ("metadata", "labels")
UNREACHABLE: Final = (
    "the addresses of a network are not reachable by a ClusterIP: its traffic goes through the "
    "node, which cannot reach a macvlan or ipvlan of its own; write clusterIP: None"
)


@dataclass(frozen=True, slots=True)
class ServiceFault:
    """What keeps a Service from being served, at its place."""

    path: Path
    message: str


@dataclass(frozen=True, slots=True)
class NetworkService:
    """A Service that names a network. With faults, it gets no endpoints."""

    network: str
    pods: tuple[Term, ...]  # conditions on the labels of its pods; all must hold
    faults: tuple[ServiceFault, ...] = ()
    doubt: str = ""  # what will not work although it has endpoints

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a pod of its namespace belongs to it."""
        return not self.faults and all(term.holds(labels) for term in self.pods)


def network_service(service: Service) -> NetworkService | None:
    """What a Service says of a network; None if it names no PodNetwork."""
    labels, annotations = service.metadata.labels, service.metadata.annotations
    upstream = labels.get(UPSTREAM_NAME, "") if labels.get(UPSTREAM_KIND, "") in KINDS else ""
    own = annotations.get(NETWORK)
    if own is None and not upstream:
        return None
    network = str(own if own is not None else upstream)
    faults = list(_faults(service, network, upstream))
    pods: tuple[Term, ...] = ()
    try:
        pods = _pods(service)
    except RefusedError as error:
        faults.append(ServiceFault((*ANNOTATIONS, SELECTOR), error.message))
    doubt = "" if service.spec.is_headless or service.spec.type == "ExternalName" else UNREACHABLE
    return NetworkService(network, pods, tuple(faults), doubt)


def _faults(service: Service, network: str, upstream: str) -> Iterator[ServiceFault]:
    spec, annotations = service.spec, service.metadata.annotations
    if not network:
        yield ServiceFault((*ANNOTATIONS, NETWORK), "names no network; write its name")
    if upstream and network != upstream:
        message = f"names another network than the annotation {NETWORK} ({network!r})"
        yield ServiceFault((*LABELS, UPSTREAM_NAME), message)
    if upstream and service.metadata.labels.get(UPSTREAM_NAMESPACE):
        message = "a PodNetwork has no namespace; remove this label"
        yield ServiceFault((*LABELS, UPSTREAM_NAMESPACE), message)
    if spec.type == "ExternalName":
        yield ServiceFault(("spec", "type"), "an ExternalName has no endpoints")
    text = annotations.get(SELECTOR)
    if spec.selector and (DUMMY not in spec.selector or text is not None):
        yield ServiceFault(
            ("spec", "selector"),
            "Kubernetes would publish the pods' primary addresses beside those of the network; "
            f"write the selector into the annotation {SELECTOR} only",
        )
    elif text is None and not spec.selector:
        message = f"selects no pods; write the annotation {SELECTOR}, for example app=media"
        yield ServiceFault(ANNOTATIONS, message)
    elif text is not None and len(str(text)) > SELECTOR_MAX:
        message = f"is longer than {SELECTOR_MAX} characters"
        yield ServiceFault((*ANNOTATIONS, SELECTOR), message)


def _pods(service: Service) -> tuple[Term, ...]:
    text = service.metadata.annotations.get(SELECTOR)
    if text is None:
        wanted = service.spec.selector.items()
        return tuple(Term(key, "In", (value,)) for key, value in wanted if key != DUMMY)
    return parse_selector(str(text)[:SELECTOR_MAX], "", POD).labels
