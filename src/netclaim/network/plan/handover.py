"""Whether a link's hardware may be given to a program on this node: the key `vfio`.

Promise: what is refused here would fail in the pod, or take from the node what it lives on. An
admin's class is held to it too. Limit: the plugin looks once more before it begins.
"""

import asyncio

from netclaim.cni import NetworkList
from netclaim.errors import HostError
from netclaim.kernel import Link
from netclaim.kernel.host.hardware.vfio import obstacle
from netclaim.network.errors import PolicyError
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.request.into_config.link_keys import hands_over
from netclaim.network.settings import LinkSettings


async def check_handover(
    network: NetworkList, link: Link, snapshot: Snapshot, settings: LinkSettings
) -> None:
    """Raise if a network hands over a link that cannot be handed over."""
    if not hands_over(network):
        return
    if not settings.vfio:
        raise HostError(
            "the driver of this node gives no hardware to programs (vfio); ask a cluster admin to "
            "set vfio: true in the driver's settings"
        )
    check_needed(link, snapshot)
    if reason := await asyncio.to_thread(obstacle, link.name):
        raise HostError(f"the link {link.name!r} cannot be given to a program: {reason}")


def check_needed(link: Link, snapshot: Snapshot) -> None:
    """Raise if the node itself needs a link."""
    if reason := snapshot.carriers.get(link.index):
        raise PolicyError(
            f"the link {link.name!r} carries the node ({reason}) and cannot be given to a program; "
            "select another link"
        )
