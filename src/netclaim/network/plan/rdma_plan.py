"""Plan what a claim gets of an RDMA device that has no link: its files.

Promise: a plan without an interface, so that nothing has to be attached. What would need one is
refused. Limit: judges no permission.
"""

import asyncio
from pathlib import Path
from typing import Final

from netclaim.errors import RequestError
from netclaim.kernel.host.hardware.sysfs import SYS
from netclaim.model import Claim, Plan
from netclaim.network.devices.device import find_by_device
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.links.rdma_devices import edits_of, find_rdma
from netclaim.network.request.into_config.added import HOST_DEVICE
from netclaim.network.request.into_config.wishes import NO_WISHES
from netclaim.network.request.parameters import InterfaceRequest

PLAIN: Final = frozenset({"type", "name", "cniVersion"})  # keys that ask nothing of an interface


async def rdma_plan(
    claim: Claim, request: InterfaceRequest, snapshot: Snapshot, root: Path = SYS
) -> Plan | None:
    """Return the plan for a device without a link; None for one that is a link."""
    device = request.device.device
    if find_by_device(snapshot.links, device) is not None:
        return None
    rdma = await asyncio.to_thread(find_rdma, device, root)
    if not rdma:
        return None
    _check_plain(request, rdma)
    edits = await asyncio.to_thread(edits_of, rdma, root)
    return Plan(claim=claim.ref, device=request.device, edits=edits)


def _check_plain(request: InterfaceRequest, rdma: str) -> None:
    """Refuse a network that needs an interface."""
    plugins = request.network.plugins
    asked = {key for each in plugins for key in each.config if each.config[key]}
    if [each.type for each in plugins] != [HOST_DEVICE] or asked - PLAIN:
        raise RequestError(
            f"the RDMA device {rdma} has no link, so pods get its files and no interface; write "
            f"{HOST_DEVICE} without other plugins and keys, or select a device with an ifName",
            path=request.plugin_paths[0],
        )
    if request.wishes != NO_WISHES:
        path = next(iter(request.wish_paths.values()), request.plugin_paths[0])
        raise RequestError(
            f"the RDMA device {rdma} has no link, so there is no interface to set; leave it out, "
            "or select a device with an ifName",
            path=path,
        )
