"""Configuration for drivers: in a claim, in a class, and in the allocation that combines them."""

from typing import Any

from netclaim.model.api.base import Base


class OpaqueParameters(Base, frozen=True):
    """What only a driver understands."""

    driver: str
    parameters: Any = None


class DeviceConfig(Base, frozen=True):
    """An entry of a configuration; without `requests` it is for all of them.

    `source` is set in allocations only: FromClass or FromClaim.
    """

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueParameters | None = None
