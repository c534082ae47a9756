"""What a guest with network cards runs: it makes virtual functions and describes all links.

Prints one JSON object: what is not as it should be. `python -m tests.reference.site.card_guest`
"""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

from netclaim.kernel import Rtnl, list_links, read_facts
from netclaim.network.devices.device import device_of
from tests.reference.site.card_cases import VFS, device_faults

CLASS_NET: Final = Path("/sys/class/net")


def main() -> None:
    """Make virtual functions of each card, and see which devices they are."""
    for count in sorted(CLASS_NET.glob("*/device/sriov_numvfs")):
        count.write_text(f"{VFS}\n")
    found = device_faults(asyncio.run(described()))
    print(json.dumps({"differences": found}), flush=True)  # noqa: T201


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
