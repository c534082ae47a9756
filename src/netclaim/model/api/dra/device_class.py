"""DeviceClass: which devices claims may ask for by one name, and their configuration by an admin.

It is the same in every version of the API.
"""

from netclaim.model.api.base import Base, Meta
from netclaim.model.api.dra.config import DeviceConfig


class CelSelector(Base, frozen=True):
    """An expression in CEL."""

    expression: str


class Selector(Base, frozen=True):
    """What a device has to be like; None for a kind of selector that is newer than this."""

    cel: CelSelector | None = None


class ClassSpec(Base, frozen=True):
    """What a class is."""

    selectors: tuple[Selector, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    extended_resource_name: str = ""


class DeviceClass(Base, frozen=True):
    """A DeviceClass object."""

    metadata: Meta
    spec: ClassSpec = ClassSpec()

    @property
    def name(self) -> str:
        """How claims name it."""
        return self.metadata.name

    @property
    def expressions(self) -> tuple[str, ...]:
        """Its selectors in CEL."""
        return tuple(one.cel.expression for one in self.spec.selectors if one.cel is not None)
