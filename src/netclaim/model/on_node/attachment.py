"""A planned device in one pod's sandbox.

Promise: enough to undo it, whatever happened in between. An attachment is written before the work
begins, so it may describe something that was only half done; `interface` is then None.
"""

from typing import TypeAlias

import msgspec

from netclaim.model.claims.claim import DeviceKey, JsonObject
from netclaim.model.on_node.plan import Plan
from netclaim.model.on_node.pod import PodSandbox

AttachmentKey: TypeAlias = tuple[str, str, DeviceKey]  # claim UID, sandbox id, device


class Interface(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the pod sees; becomes `networkData` in the claim's status."""

    name: str
    hardware_address: str = ""
    ips: tuple[str, ...] = ()  # address/prefix, as 192.0.2.5/24


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """One plan in one sandbox.

    `data` is shown in the claim's status (an object of at most 10 KiB, such as the CNI result).
    """

    plan: Plan
    pod: PodSandbox
    interface: Interface | None = None
    data: JsonObject = {}

    @property
    def key(self) -> AttachmentKey:
        """What distinguishes this attachment from every other of the driver."""
        return (self.plan.claim.uid, self.pod.id, self.plan.device.key)
