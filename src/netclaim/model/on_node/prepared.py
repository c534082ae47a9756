"""What kubelet names and what a driver answers: claims by reference, devices made ready.

A claim's contents are not here, since kubelet gives only its identity, and a claim that is being
released may be gone from the API server. No I/O.
"""

import msgspec


class ClaimRef(msgspec.Struct, frozen=True):
    """Which ResourceClaim is meant. The UID is its identity; a name can be used again."""

    uid: str
    namespace: str
    name: str


class PreparedDevice(msgspec.Struct, frozen=True):
    """One allocated device that is ready for the claim's pods.

    `request_names` are base names, without a subrequest; empty means every request of the claim.
    `cdi_device_ids` may be empty: a device can reach the pod in another way than by CDI.
    """

    request_names: tuple[str, ...]
    pool_name: str
    device_name: str
    cdi_device_ids: tuple[str, ...] = ()
    share_id: str | None = None  # which share, when several claims hold the device


class PrepareAnswer(msgspec.Struct, frozen=True):
    """The outcome for one claim: its devices, or why it could not be prepared."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str | None = None
