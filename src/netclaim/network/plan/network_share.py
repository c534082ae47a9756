"""What a claim may have of a link by a PodNetwork: what the network says, and no more.

Anybody who may use a network can write a claim that asks for its link alone, or for all of the
link's bandwidth. Promise: such a claim is refused unless the network has it so, or its `allow`
lists it. No I/O. Limit: the network as it is now counts, not as it was at the allocation; where the
driver does not know networks (`--network-devices`), it cannot say.
"""

from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.devices.link_name import slotted
from netclaim.model.quantity import NANO
from netclaim.network.devices.shares import MEGABIT, Share
from netclaim.network.errors import PolicyError
from netclaim.network.pod_network import takes_link
from netclaim.network.request.entries import Requested
from netclaim.network.request.parameters import InterfaceRequest


def check_network_share(
    request: InterfaceRequest, share: Share, network: PodNetwork, *, usual: int
) -> None:
    """Raise if a claim has more of its link than it may; `usual` has who asks for no bandwidth."""
    device = request.device
    if device.share_id is None or slotted(device.device):
        return  # for one claim in any case, or an equal part
    where = (Requested.named(device.base_request), "capacity")
    if share.alone and not takes_link(network):
        raise PolicyError(
            f"the network {network.name} shares its link; leave the capacity out, or ask a cluster "
            f"admin to set sharing.alone in the PodNetwork",
            path=where,
        )
    if share.bandwidth > max(_bandwidth(network), usual) and "bandwidth" not in network.spec.allow:
        raise PolicyError(
            f"the network {network.name} does not let claims choose their bandwidth; leave it out, "
            f"or ask a cluster admin to add bandwidth to spec.allow of the PodNetwork",
            path=where,
        )


def _bandwidth(network: PodNetwork) -> int:
    """What the network gives, as the scheduler rounds it up."""
    asked = network.bandwidth
    return -(-asked.nanos // NANO // MEGABIT) * MEGABIT if asked is not None else 0
