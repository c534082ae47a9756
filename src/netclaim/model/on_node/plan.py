"""What prepare decided about a claim: one plan for each allocated device.

Promise: a plan is complete and serialisable. Read back from the journal after a restart or a
reboot, it is equal to what was made, and everything later (attach, detach, unprepare) works from it
alone, even if the claim object is gone.
"""

from collections.abc import Mapping

import msgspec

from netclaim.model.claims.claim import AllocatedDevice, JsonObject
from netclaim.model.on_node.prepared import ClaimRef


class DeviceNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """A device file of the host that a container gets; without `host_path`, `path` is its path."""

    path: str
    host_path: str = ""
    permissions: str = "rw"


class Mount(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file or directory of the host that a container gets."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = ("ro", "nosuid", "nodev", "bind")


class ContainerEdits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What every container that names the claim gets; handed to the runtime through CDI."""

    env: Mapping[str, str] = {}
    device_nodes: tuple[DeviceNode, ...] = ()
    mounts: tuple[Mount, ...] = ()


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one allocated device will be for the pods that use the claim.

    `edits` goes to containers. `network` is the network driver's own account of what attach has to
    do, in JSON; the framework keeps it and never looks inside. A plan without `network` is never
    attached.
    """

    claim: ClaimRef
    device: AllocatedDevice
    edits: ContainerEdits | None = None
    network: JsonObject | None = None

    @property
    def where(self) -> str:
        """Whose it is, and which of the devices that a request may have, for people."""
        claim = f"claim {self.claim.namespace}/{self.claim.name}"
        return f"{claim}, request {self.device.request}, device {self.device.device}"


class Prepared(msgspec.Struct, frozen=True, omit_defaults=True):
    """A claim's plans. It has none if its preparation was begun and never finished."""

    claim: ClaimRef
    plans: tuple[Plan, ...] = ()
