"""Addresses that are kept: for whose pods, and who a lease belongs to while nobody has it.

    keep: {kinds: [StatefulSet], whenScaled: Retain}       of an AddressPool
    owner: {kind: StatefulSet, name: db, replica: db-0, interface: net1, ...}   of an AddressLease

An owner is a StatefulSet, or an IPAMClaim, which stands for a virtual machine's interface and has
no replicas: its own name is in their place.

Promise: what belongs to one interface of one replica has one identity, on whichever node the
replica runs, and nothing else has; label and MAC address follow from it. No I/O.
"""

import hashlib
import re
from typing import Final

from netclaim.model.api.base import Base

STATEFUL_SET: Final = "StatefulSet"
APPS: Final = "apps/v1"
IPAM_CLAIM: Final = "IPAMClaim"  # of the Network Plumbing Working Group
IPAM_CLAIM_GROUP: Final = "k8s.cni.cncf.io"
IPAM_CLAIM_VERSION: Final = "v1alpha1"
KEPT_KINDS: Final = (STATEFUL_SET, IPAM_CLAIM)
RETAIN: Final = "Retain"
WHEN_SCALED: Final = (RETAIN, "Delete")  # as StatefulSets have it for volumes
KEPT_LABEL: Final = "cni.networking.x-k8s.io/kept-for"  # at a lease: its owner's `label`
LABEL_DIGITS: Final = 40  # 160 bits: nobody finds two identities with one; a label has 63 letters
MAC_BYTES: Final = 6
LOCAL, GROUP = 0x02, 0x01  # of a MAC's first byte: chosen by us, and of several interfaces
ORDINAL: Final = re.compile("0|[1-9][0-9]{0,9}")


class Keep(Base, frozen=True):
    """Whose pods get the addresses again that they had."""

    kinds: tuple[str, ...] = ()
    when_scaled: str = RETAIN  # what becomes of a replica's address that is scaled down


class LeaseOwner(Base, frozen=True):
    """Whom an address is kept for: an interface of a replica."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    replica: str  # the pod's name, which it has again; of an IPAMClaim its own
    interface: str  # in the pod

    @property
    def identity(self) -> str:
        """What no other interface of the cluster has."""
        return f"{self.namespace}/{self.uid}/{self.replica}/{self.interface}"

    @property
    def label(self) -> str:
        """By which its leases are found."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:LABEL_DIGITS]

    @property
    def mac(self) -> str:
        """The MAC address of the interface: locally administered, of one interface."""
        octets = bytearray(hashlib.sha256(f"mac/{self.identity}".encode()).digest()[:MAC_BYTES])
        octets[0] = octets[0] & ~GROUP | LOCAL
        return octets.hex(":")

    @property
    def words(self) -> str:
        """Who it is, for people of its namespace."""
        return f"pod {self.replica}" if self.kind == STATEFUL_SET else f"{self.kind} {self.name}"

    @property
    def ordinal(self) -> int | None:
        """Which of the owner's replicas it is; None: not one of its names."""
        return ordinal_of(self.name, self.replica)


def ordinal_of(name: str, replica: str) -> int | None:
    """Which replica of a StatefulSet a pod of this name is; None: it has none of its names."""
    stem, dash, number = replica.rpartition("-")
    return int(number) if dash and stem == name and ORDINAL.fullmatch(number) else None
