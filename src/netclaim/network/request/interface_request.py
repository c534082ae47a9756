"""What a claim asks of one device: an interface, its network, and who said so. A value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from netclaim.cni import NetworkList
from netclaim.model import AllocatedDevice
from netclaim.model.api.label_selector import LabelSelector
from netclaim.network.request.into_config.wishes import NO_WISHES, Wishes
from netclaim.paths import Path

ANYBODY: Final = LabelSelector()


@dataclass(frozen=True, slots=True)
class InterfaceRequest:
    """One interface that a claim asks for, and the paths by which to speak of its configuration."""

    device: AllocatedDevice
    ifname: str
    ifname_path: Path
    network: NetworkList
    plugin_paths: tuple[Path, ...]  # for each plugin of the network, where it was written
    pattern: str = ""  # from which the name was made, by its number; empty: it was written so
    wishes: Wishes = NO_WISHES
    wish_paths: Mapping[str, Path] = field(default_factory=dict)
    claimed: Mapping[str, Path] = field(default_factory=dict)  # what the claim set, and where
    class_has_config: bool = False
    allowed: frozenset[str] | None = None  # what the class lets claims set; None: it does not say
    namespaces: LabelSelector = ANYBODY  # whose claims may use the class
    ipam_claim: str = ""  # that the addresses are kept for; empty: none
    ipam_claim_path: Path = ()
    pod_network: str = ""  # that the class was made for; empty: none
    as_text: bool = False  # whether the network was written as a string of JSON

    @property
    def trusted(self) -> bool:
        """Whether the network is an admin's word: it was not the claim that wrote it."""
        return "config" not in self.claimed
