"""What a guest with network cards runs: every case for them, before and with virtual functions.

Prints one JSON object a line: the case, and what is not as it should be.
`python -m tests.reference.site.card_guest`
"""

import asyncio
import sys
from typing import Any

import structlog

from netclaim.kernel import Rtnl, list_links, read_facts
from netclaim.network.devices.device import device_of
from tests.reference.site.card_cases import DESCRIBED, device_faults
from tests.reference.site.cni_site import ip
from tests.reference.site.flag_cases import SWITCHED
from tests.reference.site.guest_report import tell
from tests.reference.site.node_cases import AS_NODE
from tests.reference.site.rdma_cases import WITH_RDMA
from tests.reference.site.vf_cases import BEFORE_FUNCTIONS, WITH_FUNCTIONS
from tests.reference.site.vf_number_cases import MADE, NUMBERS, made
from tests.reference.site.vf_site import card_names, named_host
from tests.reference.site.vfio_cases import WITH_PROGRAMS


def main() -> None:
    """Do each case, and tell at once."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    with named_host():
        for name, find in (BEFORE_FUNCTIONS | SWITCHED).items():
            tell(name, find)
        tell(MADE, made)
        for card in card_names():
            ip("link", "set", card, "up")
        tell(DESCRIBED, lambda: device_faults(asyncio.run(described())))
        for name, find in (WITH_FUNCTIONS | WITH_PROGRAMS | WITH_RDMA | NUMBERS | AS_NODE).items():
            tell(name, find)


async def described() -> dict[str, dict[str, Any]]:
    """The attributes of the links' devices, by name."""
    with Rtnl.open() as rtnl:
        links = await list_links(rtnl)
    devices = [
        device_of(link, (), read_facts(link.name, link.index), default_route=False)
        for link in links
    ]
    return {device.name: dict(device.attributes) for device in devices}


if __name__ == "__main__":
    main()
