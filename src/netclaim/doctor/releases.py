"""Releases of Kubernetes and containerd, and what depends on them. No I/O."""

import re
from typing import Final, NamedTuple

NUMBER: Final = re.compile(r"v?(\d+)\.(\d+)")


class Release(NamedTuple):
    """A version as far as it decides what there is."""

    major: int
    minor: int

    @classmethod
    def read(cls, text: str) -> "Release | None":
        """Read a version such as `v1.36.4`; None if it is not one."""
        found = NUMBER.match(text)
        return cls(int(found[1]), int(found[2])) if found else None

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


OLDEST: Final = Release(1, 32)  # of API server and kubelet: the first with DRA's plugin protocol
NEWEST: Final = Release(1, 37)  # that netclaim is tested with
STATUS_SINCE: Final = Release(1, 33)  # DRAResourceClaimDeviceStatus is on by default
CAPACITY_SINCE: Final = Release(1, 36)  # DRAConsumableCapacity is on by default
GRANULAR_SINCE: Final = Release(1, 36)  # before, nobody asks for resourceclaims/driver
NRI_BY_DEFAULT: Final = Release(2, 0)  # of containerd


def has_nri_off(runtime: str, version: str) -> bool:
    """Whether a container runtime is known to have NRI switched off unless configured."""
    release = Release.read(version)
    return runtime == "containerd" and release is not None and release < NRI_BY_DEFAULT
