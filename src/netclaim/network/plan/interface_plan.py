"""What prepare hands to attach and detach about one interface: the content of `Plan.network`.

Promise: reads back as it was written, after a restart, an upgrade or a reboot. What a user wrote
and what the driver adds to it are kept apart, so that the first can be judged again; both are
parsed once for each plan that is read. Limit: keys are only ever added to it, with a default;
plans of an older driver are still in the journal.
"""

from functools import cached_property

import msgspec

from netclaim.cni import NetworkList, parse_network
from netclaim.errors import HostError, RequestError
from netclaim.model import JsonObject, Plan
from netclaim.model.api.own_kinds.address_pool import AddressLeaseSpec
from netclaim.model.pools.named_pools import POOLED
from netclaim.network.request.canonical import canonical
from netclaim.network.request.into_config.runtime import with_runtime
from netclaim.network.request.into_config.wishes import Wishes, with_wishes

STATIC = "static"  # the IPAM plugin that hands out what was leased


class Leased(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An address of a pool that the interface has, and the lease that says so."""

    name: str  # the AddressLease's; the next two distinguish it from a later one of this name
    uid: str
    resource_version: str
    address: str  # with its prefix length
    gateway: str = ""
    lease: AddressLeaseSpec | None = None  # what it says, to be leased again if it is deleted


class Addresses(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What an interface has of a pool."""

    pool: str
    leases: tuple[Leased, ...] = ()
    routes: tuple[JsonObject, ...] = ()
    dns: JsonObject = {}
    mac: str = ""  # that goes with kept addresses


class InterfacePlan(msgspec.Struct, frozen=True, dict=True, omit_defaults=True, rename="camel"):
    """One interface to make: its name in the pod and the CNI configuration, nothing left open."""

    if_name: str
    config: JsonObject  # as it was judged
    link: str = ""  # the allocated link; empty for the device that is no particular one
    link_up: bool = False  # whether it was switched on, for when it comes home from a pod
    level: str = ""  # of the claim's namespace; a plan of an older driver does not say
    trusted: bool = False  # whether a class wrote the configuration
    wishes: Wishes = Wishes()
    asked: tuple[str, ...] = ()  # the wishes that are the claim's own
    vouched: tuple[str, ...] = ()  # of these, the ones that the class allows
    files: str = ""  # the directory for plugins that keep files; an older driver left that to them
    alone: bool = False  # whether nobody else has anything of the link
    bandwidth: int = 0  # bits per second that the interface may use, each way; 0: no limit
    pod_network: str = ""  # that the claim's class was made for
    addresses: Addresses | None = None  # of a pool, if the network has them leased
    link_mtu: int = 0  # of the allocated link, when the plan was made
    pci_address: str = ""  # of a link that is given away, or that a program asks about

    @cached_property
    def judged(self) -> NetworkList:
        """The network that the policy judges, without anything that the driver adds.

        RequestError where it is none that can be run.
        """
        return parse_network(canonical(self.config, path=("config",)))

    @cached_property
    def network(self) -> NetworkList:
        """The network to run: the same with all that the driver adds, or the same error."""
        wishes = self.wishes
        if self.addresses is not None:  # what was wished for is what was leased
            mac = wishes.mac or self.addresses.mac
            wishes = msgspec.structs.replace(wishes, ips=(), mac=mac)
        network = with_addresses(with_wishes(self.judged, wishes, {}), self.addresses)
        network = with_runtime(network, self.pci_address, self.bandwidth)
        return with_files(network, self.files)

    @property
    def network_to_undo(self) -> NetworkList:
        """The network for DEL: what cannot be run was not, and still has to be let go."""
        try:
            return self.network
        except RequestError:
            return parse_network(self.config)

    def to_json(self) -> JsonObject:
        """Return what the journal keeps."""
        kept: JsonObject = msgspec.to_builtins(self)
        return kept


def read_plan(plan: Plan) -> InterfacePlan:
    """Read what the journal kept."""
    try:
        return msgspec.convert(plan.network, InterfacePlan)
    except msgspec.ValidationError as error:
        claim = plan.claim
        raise HostError(
            f"the plan of claim {claim.namespace}/{claim.name} was not made by this driver: {error}"
        ) from error


def pooled_at(network: NetworkList) -> tuple[int, ...]:
    """The plugins of a network whose addresses are a pool's."""
    return tuple(n for n, plugin in enumerate(network.plugins) if plugin.ipam_type == POOLED)


def with_addresses(network: NetworkList, addresses: Addresses | None) -> NetworkList:
    """Return a network that has the addresses which were leased for it."""
    if addresses is None:
        return network
    for index in pooled_at(network):
        asked = network.plugins[index].config["ipam"]
        ipam: JsonObject = {
            "type": STATIC,
            "addresses": [
                {"address": each.address} | ({"gateway": each.gateway} if each.gateway else {})
                for each in addresses.leases
            ],
            "routes": [*asked.get("routes", ()), *addresses.routes],
        }
        if addresses.dns:
            ipam["dns"] = addresses.dns
        network = network.with_keys(index, {"ipam": ipam})
    return network


def with_files(network: NetworkList, files: str) -> NetworkList:
    """Return a network whose plugins keep their files below `files`, unless it says where."""
    if not files:
        return network
    for index, plugin in enumerate(network.plugins):
        ipam = plugin.config.get("ipam", {})
        if plugin.ipam_type == "host-local" and not ipam.get("dataDir"):
            network = network.with_keys(index, {"ipam": {**ipam, "dataDir": f"{files}/leases"}})
        if plugin.type == "tuning" and not plugin.config.get("dataDir"):
            network = network.with_keys(index, {"dataDir": f"{files}/tuning"})
    return network
