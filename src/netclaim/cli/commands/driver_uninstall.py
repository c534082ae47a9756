"""`netclaim driver uninstall`: remove what a retired driver left on the node.

Promise and limit are those of `uninstalling`; it refuses while the driver runs, which would put
everything back.
"""

import asyncio
from typing import Final

from netclaim.cli.options.settings import takes_settings
from netclaim.cli.uninstalling import remove_traces
from netclaim.errors import RequestError
from netclaim.framework.journal.store import is_locked
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.settings.flags import settings_of
from netclaim.framework.settings.sources import Followed

NOTHING: Final = "nothing to remove"


@takes_settings(
    "name",
    "run_dir",
    "state_dir",
    "lease_dir",
    "kubelet_dir",
    "cni_conf_dir",
    "cni_program_dir",
    "cdi_dir",
)
def command(followed: Followed) -> None:
    """Remove what a retired driver left on this node.

    Removes the driver from the runtime's network configuration, the programs that it put on the
    node, its directory below --run-dir, and, if nothing is attached any more, its journal and
    address leases. Stop the driver first. Interfaces of running pods stay until the pods end, and
    so does what a driver that comes back needs to release them. Needs root.
    """
    settings, name = settings_of(followed.started), followed.started["name"]
    journal = NodePlaces.of(settings, name).journal
    if journal.exists() and is_locked(journal):
        raise RequestError(f"the driver {name} is running on this node; stop it first")
    lease_dir = followed.started["lease_dir"]
    for line in asyncio.run(remove_traces(settings, name, lease_dir)) or [NOTHING]:
        print(line)
