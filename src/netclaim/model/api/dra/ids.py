"""What distinguishes pools, and devices, from all others in a cluster."""

from typing import NamedTuple


class PoolId(NamedTuple):
    """A pool: its name is unique among those of its driver."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return "/".join(self)


class DeviceId(NamedTuple):
    """A device: its name is unique in its pool."""

    driver: str
    pool: str
    device: str

    @property
    def in_pool(self) -> PoolId:
        """The pool that it is in."""
        return PoolId(self.driver, self.pool)

    def __str__(self) -> str:
        return "/".join(self)
