"""What of a network there should be, and what its status should say. No I/O.

Promise: the same cluster gives the same answer. A network that cannot work says why in its
condition `Ready`, in one line.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from netclaim.allocator.cel import CelError, DeviceView, Selector, compile_selector, device_view
from netclaim.model.api.base import Condition, ObjectError
from netclaim.model.api.dra.claim import DeviceResult, ResourceClaim
from netclaim.model.api.dra.slice import ResourceSlice
from netclaim.model.api.own_kinds.pod_network import NodeAvailability, PodNetwork, PodNetworkStatus
from netclaim.model.claims.claim import JsonObject
from netclaim.network.devices.network_device import is_device_of
from netclaim.network.judge.pod_network import network_faults
from netclaim.network.pod_network import class_of

NODES_MAX: Final = 100  # in the status, those without the network first
USERS_MAX: Final = 20  # likewise
NO_DRIVER: Final = "netclaim's driver has published no link there"


class Use(NamedTuple):
    """Who uses a network."""

    claims: int  # that were allocated
    interfaces: int
    pods: tuple[str, ...]  # as namespace/name


def mistake_in(network: PodNetwork, driver: str) -> str:
    """What the drivers would refuse of a network, in words; empty if nothing."""
    return "; ".join(map(str, network_faults(network, driver)))


def is_offered(network: PodNetwork) -> bool:
    """Whether new pods can use it."""
    return network.spec.enabled and not network.is_ending


def allowed_namespaces(network: PodNetwork, namespaces: Iterable[JsonObject]) -> frozenset[str]:
    """The namespaces that may use a network."""
    return frozenset(
        found["metadata"]["name"]
        for found in namespaces
        if "deletionTimestamp" not in found["metadata"]
        and network.spec.namespaces.selects(found["metadata"].get("labels", {}))
    )


def results_of(name: str, driver: str, claim: ResourceClaim) -> list[DeviceResult]:
    """What a claim got of a network, by its class or by one of its devices."""
    requests = set(claim.requests_of(name))
    return [
        each
        for each in claim.status.results
        if each.request in requests or (each.driver == driver and is_device_of(name, each.device))
    ]


@dataclass(slots=True)
class Uses:
    """Counts who uses a network, claim by claim."""

    name: str
    driver: str
    _claims: int = 0
    _interfaces: int = 0
    _pods: dict[str, None] = field(default_factory=dict)

    def add(self, claim: ResourceClaim) -> None:
        """Count a claim, if it has something of the network."""
        results = results_of(self.name, self.driver, claim)
        if not results:
            return
        self._claims += 1
        self._pods.update((f"{claim.metadata.namespace}/{pod}", None) for pod in claim.status.pods)
        for result in results:
            report = claim.status.report_of(result)
            if report is not None and report.ready is not None and report.ready.status == "True":
                self._interfaces += 1

    def use(self) -> Use:
        """What was counted."""
        return Use(self._claims, self._interfaces, tuple(self._pods))


def availability(
    network: PodNetwork, driver: str, nodes: Iterable[str], slices: Iterable[JsonObject]
) -> list[NodeAvailability]:
    """Which nodes have a link for the network, and why the others do not."""
    links: dict[str, list[DeviceView]] = {}
    for found in slices:
        node, views = _views(found)
        links.setdefault(node, []).extend(views)
    try:
        expressions = class_of(network, driver)["spec"]["selectors"]
        selectors = [compile_selector(each["cel"]["expression"]) for each in expressions]
    except CelError as error:
        return [NodeAvailability(node, message=str(error)) for node in nodes]
    return [_on_node(network, node, links.get(node), selectors) for node in sorted(nodes)]


def _on_node(
    network: PodNetwork, node: str, links: list[DeviceView] | None, selectors: list[Selector]
) -> NodeAvailability:
    if not links:
        return NodeAvailability(node, message=NO_DRIVER)
    failed = ""
    for link in links:
        try:
            if all(selector.matches(link) for selector in selectors):
                return NodeAvailability(node, available=True)
        except CelError as error:
            failed = f"parent.selector cannot be evaluated there: {error}"
    return NodeAvailability(node, message=failed or _no_link(network))


def _no_link(network: PodNetwork) -> str:
    if network.spec.parent.overrides:
        return "the driver there offers it on no link; see parent.overrides and --network-devices"
    if name := network.spec.parent.name:
        return f"no link {name} is offered there"
    if network.spec.parent.selector:
        return "no link that is offered there matches parent.selector"
    return "the driver there does not offer its generic device (--generic-device)"


def _views(found: JsonObject) -> tuple[str, list[DeviceView]]:
    try:
        spec = ResourceSlice.read(found).spec
        return spec.node_name, [device_view(spec.driver, each) for each in spec.devices]
    except (ObjectError, CelError):
        return "", []


def status_of(
    network: PodNetwork,
    *,
    mistake: str,
    taken: str,
    no_pool: str,
    passed_over: str,
    nodes: list[NodeAvailability],
    namespaces: int,
    use: Use,
) -> PodNetworkStatus:
    """The status of a network; `taken` says that somebody else has its class.

    `no_pool` is the pool that its addresses are of, if there is none of that name.

    `passed_over` are templates of its name that users wrote: the network is ready nevertheless, or
    any user of a namespace could declare everybody's network broken.
    """
    there = sum(each.available for each in nodes)
    pool = f'there is no AddressPool "{no_pool}", which its addresses are of' if no_pool else ""
    faults = {"Invalid": mistake, "NameTaken": taken, "NoPool": pool}
    conditions = (
        _ready(network, faults, passed_over, nodes),
        Condition(
            "InUse",
            "True" if use.claims else "False",
            "Claims" if use.claims else "NoClaims",
            f"{use.claims} claims have devices for it",
        ),
    )
    listed = sorted(nodes, key=lambda each: (each.available, each.name))[:NODES_MAX]
    return PodNetworkStatus(
        observed_generation=network.metadata.generation,
        conditions=conditions,
        nodes_available=there,
        nodes=tuple(listed),
        namespaces=namespaces,
        interfaces=use.interfaces,
        pods=len(use.pods),
        users=use.pods[:USERS_MAX],
    )


def _ready(
    network: PodNetwork,
    faults: Mapping[str, str],
    passed_over: str,
    nodes: list[NodeAvailability],
) -> Condition:
    def no(reason: str, message: str) -> Condition:
        return Condition("Ready", "False", reason, message)

    also = f"; {passed_over}" if passed_over else ""
    if network.is_ending:
        return no("Deleted", "it was deleted; it stays until the last claim has ended" + also)
    if not network.spec.enabled:
        return no("Disabled", "spec.enabled is false: new pods cannot use it" + also)
    for reason, fault in faults.items():
        if fault:
            return no(reason, fault)
    there = sum(each.available for each in nodes)
    if not there:
        why = next(iter(nodes), NodeAvailability("", message="the cluster has no nodes"))
        return no("NoNode", f"no node has it; {why.name or 'why'}: {why.message}")
    return Condition("Ready", "True", "Available", f"{there} of {len(nodes)} nodes have it{also}")


def with_times(
    status: PodNetworkStatus, before: Mapping[str, Condition], now: str
) -> Iterator[Condition]:
    """The conditions of a status, each with the time since which it has its value."""
    for each in status.conditions:
        old = before.get(each.type)
        same = old is not None and old.status == each.status and old.last_transition_time
        since = old.last_transition_time if old is not None and same else now
        yield Condition(each.type, each.status, each.reason, each.message, since)
