"""Guard: bring together who asks, on which link, and what the policy says of it.

Promise: what is refused here was not begun. Prepare asks before a plan is made, attach once more
before it is carried out, however young the plan is: a link may have become the node's own way out
since, or have got an address. No I/O; it is given what there is to know.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from netclaim.cni import NetworkList
from netclaim.dhcp.granted import Granted
from netclaim.errors import RequestError
from netclaim.kernel import Link
from netclaim.model import AllocatedDevice, Claim, Plan
from netclaim.model.devices.link_name import GENERIC, link_of
from netclaim.model.pools.address_space import IpAddress
from netclaim.network.devices.shares import how_alone
from netclaim.network.errors import LinkGoneError, PlanRefusedError, PolicyError
from netclaim.network.judge.addresses import address_fault
from netclaim.network.judge.carried import Use, carried_by, carried_by_server, wished
from netclaim.network.judge.network import judge
from netclaim.network.judge.own_hops import own_hop_faults
from netclaim.network.judge.request import permit, wish_faults
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.plan.handover import check_needed
from netclaim.network.plan.interface_plan import (
    InterfacePlan,
    pooled_at,
    read_plan,
    with_addresses,
)
from netclaim.network.policy.levels import LABEL, LEVELS, Level
from netclaim.network.policy.metadata import METADATA_SERVERS
from netclaim.network.policy.standing import Standing
from netclaim.network.request.into_config.link_keys import hands_over, linked_names, takes_link
from netclaim.network.request.parameters import InterfaceRequest
from netclaim.network.settings import LinkSettings, LiveSettings
from netclaim.paths import Key, Path
from netclaim.plugins.engine.conf import read_ip


def level_named(name: str, *, path: Path = ()) -> Level:
    """Return the level of this name; PolicyError says which there are."""
    if name not in LEVELS:
        known = ", ".join(LEVELS)
        message = f"{name!r} is not a policy level; ask a cluster admin to choose one of {known}"
        raise PolicyError(message, path=path)
    return LEVELS[name]


class Guard:
    """The policy of this node, for claims and plans."""

    def __init__(self, settings: LiveSettings) -> None:
        self._live = settings

    @property
    def _settings(self) -> LinkSettings:
        return self._live.now

    def level_of(self, claim: Claim) -> Level:
        """Return the level of a claim's namespace, by its label or by default."""
        label = claim.namespace_labels.get(LABEL)
        chosen = self._settings.policy
        if label is not None:
            where = (f"Namespace({claim.namespace})", "metadata", "labels", Key(LABEL))
            chosen = level_named(label, path=where)
        return min(chosen, self._settings.policy_ceiling)

    def unnameable(self, snapshot: Snapshot) -> Mapping[int, str]:
        """The links that a claim of the generic device may not name: index, and the reason.

        Those that are not offered, and those of which the scheduler counts who has what. What is
        left is the node's own.
        """
        reasons = dict(snapshot.withheld)
        for link in snapshot.offered:
            if link.index not in snapshot.carriers:
                reasons[link.index] = "claims share it by allocation, so select it in the request"
        return reasons

    def check(
        self,
        claim: Claim,
        request: InterfaceRequest,
        used: Collection[Link],
        snapshot: Snapshot,
        *,
        found: Sequence[RequestError] = (),
    ) -> None:
        """Raise unless the claim may have its network on the links that it uses.

        `found` are mistakes that are known already, to be raised with what is refused.
        """
        if not request.namespaces.selects(claim.namespace_labels):
            raise _not_for(claim, request)
        level = self.level_of(claim)
        for link in used or (None,):
            standing = self._standing(level, claim.namespace, request.device, link, snapshot)
            permit(request, standing, found=found)

    def looks_at_node(self, interface: InterfacePlan) -> bool:
        """Whether it depends on the node as it is now if a plan may be carried out.

        What a tenant wrote always does, if it is about a link. An admin's word does where it takes
        the link away.
        """
        try:
            network = interface.judged
        except RequestError:  # it cannot even be read: `check_plan` says why
            return False
        if interface.trusted and not interface.asked:
            return takes_link(network)
        return bool(interface.link or linked_names(network))

    def check_plan(self, plan: Plan, interface: InterfacePlan, snapshot: Snapshot) -> None:
        """Raise unless a plan is one that would be made today.

        `snapshot` is of now where the plan depends on the node (`looks_at_node`).
        """
        try:
            network = interface.network
        except RequestError as error:
            raise PlanRefusedError(str(error)) from error
        names = (linked_names(network) or {interface.link}) - {""}
        used = [link for link in snapshot.links if link.name in names]
        gone = sorted(names - {link.name for link in used})
        if gone and self.looks_at_node(interface):  # nobody can say whose it is, or what it carries
            raise LinkGoneError(gone[0])
        for link in used if hands_over(network) else ():
            try:
                check_needed(link, snapshot)
            except PolicyError as error:
                raise PlanRefusedError(str(error)) from error
        for standing in self._standings(plan, interface, used, snapshot):
            asked: dict[str, Path] = {key: (key,) for key in interface.asked}
            wishes = wish_faults(interface.wishes, asked, standing, vouched=interface.vouched)
            hops = own_hop_faults(
                interface.judged,
                _paths(interface.judged),
                interface.wishes,
                asked,
                standing,
                trusted=interface.trusted,
                vouched=interface.vouched,
            )
            leased = _leased(interface, standing)
            if faults := [*_faults(interface, standing), *wishes, *hops, *leased]:
                raise PlanRefusedError("; ".join(map(str, faults)))

    def lease_refusal(
        self, plan: Plan, interface: InterfacePlan, snapshot: Snapshot
    ) -> Callable[[Granted], str]:
        """Return what says why a DHCP server's answer is not taken; nothing where it is.

        A server's word is neither an admin's nor the claim's. So an address of the node's and the
        like is refused, no matter who wrote the network. But a network that may put a pod into the
        node's own network may have the server there give the address.
        """
        names = (linked_names(interface.judged) or {interface.link}) - {""}
        used = [link for link in snapshot.links if link.name in names]
        standings = tuple(self._standings(plan, interface, used, snapshot))

        def refusal(granted: Granted) -> str:
            for standing in standings:
                vouched = not _is_bound(interface, standing)
                for carried in carried_by_server(granted):
                    if fault := address_fault(carried, standing, vouched=vouched):
                        return str(fault)
            return ""

        return refusal

    def withheld(self, plan: Plan, snapshot: Snapshot) -> frozenset[IpAddress]:
        """The addresses that a pool may not give to a plan's interface.

        Those that `check_plan` would refuse as the node's own, a gateway's or an API server's.
        """
        interface = read_plan(plan)
        names = linked_names(interface.judged) or {interface.link}
        used = [link for link in snapshot.links if link.name in names]
        found: set[IpAddress] = set()
        for standing in self._standings(plan, interface, used, snapshot):
            if not _is_bound(interface, standing):
                continue
            for text in (*standing.node_addresses, *standing.node_peers, *METADATA_SERVERS):
                if address_fault(wished(text, ()), standing, vouched=True):
                    found.add(read_ip(text))
        return frozenset(found)

    def _standings(
        self, plan: Plan, interface: InterfacePlan, used: Sequence[Link], snapshot: Snapshot
    ) -> Iterator[Standing]:
        """Say where a plan stands on each of its links."""
        level = self._level_of(interface)
        for link in used or (None,):
            yield self._standing(level, plan.claim.namespace, plan.device, link, snapshot)

    def _level_of(self, interface: InterfacePlan) -> Level:
        """Return the level that a plan was made for; an older driver did not know of any."""
        made_for = self._settings.policy
        if interface.level:
            made_for = level_named(interface.level, path=("level",))
        return min(made_for, self._settings.policy_ceiling)

    def _standing(
        self,
        level: Level,
        namespace: str,
        device: AllocatedDevice,
        link: Link | None,
        snapshot: Snapshot,
    ) -> Standing:
        """Say where a claim stands on one of its links; None: it uses none of the node's."""
        if link is None:
            return Standing(
                level,
                namespace,
                claim_plugins=self._settings.claim_plugins,
                ceiling=self._settings.policy_ceiling,
            )
        shared = remedy = ""
        if self._is_generic(device):
            shared = f"the device {device.device!r} can be used by any number of claims"
        elif remedy := how_alone(device, link.name):
            shared = f"other claims may use the link {link.name!r} too"
        elif above := _link_above(link, snapshot):
            shared = f"the link {above!r} uses {link.name!r}"
        elif reason := snapshot.used.get(link.index):
            shared = f"the node uses the link {link.name!r}: {reason}"
        elif link.index in snapshot.with_vfs:
            shared = f"other claims may use the virtual functions of {link.name!r}"
        carries = snapshot.carriers.get(link.index, "")
        return Standing(
            level,
            namespace,
            link=link.name,
            shared=shared,
            remedy=remedy,
            carries=carries,
            node_networks=snapshot.node_networks if carries else (),
            node_addresses=snapshot.addresses_of(link),
            node_peers=snapshot.peers_of(link),
            claim_plugins=self._settings.claim_plugins,
            ceiling=self._settings.policy_ceiling,
        )

    def _is_generic(self, device: AllocatedDevice) -> bool:
        return link_of(device.device) == GENERIC and self._settings.generic_device


def _not_for(claim: Claim, request: InterfaceRequest) -> RequestError:
    """Refuse a class that is not for the claim's namespace."""
    what, whose = "this DeviceClass", "the class's `namespaces`"
    if name := request.pod_network:
        what, whose = f"the network {name}", f"spec.namespaces of the PodNetwork {name}"
    return PolicyError(
        f"the namespace {claim.namespace} may not use {what}; ask a cluster admin to give it the "
        f"labels that {whose} selects",
        path=(f"Namespace({claim.namespace})", "metadata", "labels"),
    )


def _link_above(link: Link, snapshot: Snapshot) -> str:
    """Name a link of the node that would be lost with this one; empty if there is none."""
    here = (one for one in snapshot.links if one.parent_nsid is None and one.kind != "veth")
    return next((one.name for one in here if one.parent_index == link.index), "")


def _is_bound(interface: InterfacePlan, standing: Standing) -> bool:
    """Whether the policy judges what a pool gives to an interface."""
    return not interface.trusted and standing.level is not Level.PRIVILEGED


def _leased(interface: InterfacePlan, standing: Standing) -> Iterator[RequestError]:
    """Judge what a pool gave to a network that a claim brought itself, on a link of its choice."""
    if interface.addresses is None or not _is_bound(interface, standing):
        return
    for each in interface.addresses.leases:
        found = wished(each.address, ("addresses", each.name))
        if fault := address_fault(found, standing, vouched=True):
            yield fault
    own = msgspec.structs.replace(interface.addresses, routes=())  # the pool's are an admin's word
    network = with_addresses(interface.judged, own)
    for index in pooled_at(interface.judged):
        for carried in carried_by(network.plugins[index].config["ipam"], ("ipam",)):
            if carried.use is Use.DESTINATION and (fault := address_fault(carried, standing)):
                yield fault


def _paths(network: NetworkList) -> tuple[Path, ...]:
    return tuple(("config", "plugins", number) for number in range(len(network.plugins)))


def _faults(interface: InterfacePlan, standing: Standing) -> list[RequestError]:
    network = interface.judged
    return judge(
        network,
        _paths(network),
        standing,
        ifname=interface.if_name,
        trusted=interface.trusted,
        chosen=bool(interface.wishes.ips),
    )
