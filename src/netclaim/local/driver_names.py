"""Which drivers manifests are written for: those whose parameters netclaim can read."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from netclaim.local.manifests import Item
from netclaim.network.settings import DRIVER_NAME

__all__ = ["driver_names"]

CONFIGS: Final = {
    "DeviceClass": ("spec", "config"),
    "ResourceClaim": ("spec", "devices", "config"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "config"),
}
INTERFACE_KEYS: Final = ("ifName", "interface")  # of the two dialects of claim parameters


def driver_names(items: Iterable[Item]) -> tuple[str, ...]:
    """The names to run netclaim's driver under; its own if the manifests name none."""
    found = {
        opaque["driver"]: None
        for item in items
        for opaque in _opaque(item)
        if _is_ours(opaque.get("parameters"))
    }
    return tuple(found) or (DRIVER_NAME,)


def _opaque(item: Item) -> Iterator[dict[str, Any]]:
    value: Any = item.object
    for step in CONFIGS.get(item.kind.name, ()):
        value = value.get(step, {})
    for config in value if isinstance(value, list) else ():
        if "opaque" in config:
            yield config["opaque"]


def _is_ours(parameters: Any) -> bool:
    return isinstance(parameters, dict) and any(key in parameters for key in INTERFACE_KEYS)
