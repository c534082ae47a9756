"""What prepare hands to attach and detach about one interface: the content of `Plan.network`.

Promise: reads back as it was written, after a restart, an upgrade or a reboot. Limit: keys are only
ever added to it, with a default; plans of an older driver are still in the journal.
"""

import msgspec

from netclaim.cni import NetworkList, parse_network
from netclaim.errors import HostError
from netclaim.model import JsonObject, Plan

__all__ = ["InterfacePlan", "read_plan"]


class InterfacePlan(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One interface to make: its name in the pod and the CNI configuration, nothing left open."""

    if_name: str
    config: JsonObject
    link: str = ""  # the allocated link; empty where it is no particular one
    link_up: bool = False  # whether it was switched on, for when it comes home from a pod

    @property
    def network(self) -> NetworkList:
        """The configuration as the CNI runtime takes it."""
        return parse_network(self.config)

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
