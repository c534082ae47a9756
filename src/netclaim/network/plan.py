"""What prepare hands to attach and detach about one interface: the content of `Plan.network`.

Promise: reads back as it was written, after a restart, an upgrade or a reboot. What a user wrote
and what the driver adds to it are kept apart, so that the first can be judged again. Limit: keys
are only ever added to it, with a default; plans of an older driver are still in the journal.
"""

from functools import lru_cache
from typing import Final

import msgspec

from netclaim.cni import NetworkList, parse_network
from netclaim.errors import HostError, RequestError
from netclaim.model import JsonObject, Plan
from netclaim.network.canonical import canonical
from netclaim.network.wishes import Wishes, with_wishes

__all__ = ["InterfacePlan", "network_to_undo", "planned_network", "read_plan"]

KEPT: Final = 256  # plans; those of a Deployment's pods are alike, and each is read for ADD and DEL


class InterfacePlan(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
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
    made: float = 0.0  # when, in seconds since 1970; an older driver did not say
    files: str = ""  # the directory for plugins that keep files; an older driver left that to them
    alone: bool = False  # whether nobody else has anything of the link
    bandwidth: int = 0  # bits per second that the interface may use, each way; 0: no limit

    def to_json(self) -> JsonObject:
        """What to keep."""
        kept: JsonObject = msgspec.to_builtins(self)
        return kept


def read_plan(plan: Plan) -> InterfacePlan:
    """Read what was kept."""
    try:
        return msgspec.convert(plan.network, InterfacePlan)
    except msgspec.ValidationError as error:
        claim = plan.claim
        raise HostError(
            f"the plan of claim {claim.namespace}/{claim.name} was not made by this driver: {error}"
        ) from error


def planned_network(interface: InterfacePlan) -> NetworkList:
    """The configuration as the CNI runtime takes it, with all that the driver adds.

    RequestError where it is none that can be run.
    """
    return _finished(msgspec.json.encode(interface.config), interface.wishes, interface.files)


def network_to_undo(interface: InterfacePlan) -> NetworkList:
    """The same for DEL: what cannot be run was not, and still has to be let go."""
    try:
        return planned_network(interface)
    except RequestError:
        return parse_network(interface.config)


@lru_cache(maxsize=KEPT)
def _finished(config: bytes, wishes: Wishes, files: str) -> NetworkList:
    network = parse_network(canonical(config.decode(), path=("config",)))
    network = with_wishes(network, wishes, {})
    return _with_files(network, files) if files else network


def _with_files(network: NetworkList, files: str) -> NetworkList:
    """Say to plugins that keep files where to keep them, unless the configuration says so."""
    for index, plugin in enumerate(network.plugins):
        config = plugin.to_dict()
        if plugin.ipam_type == "host-local" and not config["ipam"].get("dataDir"):
            ipam = {**config["ipam"], "dataDir": f"{files}/leases"}
            network = network.with_keys(index, {"ipam": ipam})
        if plugin.type == "tuning" and not config.get("dataDir"):
            network = network.with_keys(index, {"dataDir": f"{files}/tuning"})
    return network
