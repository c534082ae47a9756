"""What a claim asks for: its requests, and the alternatives of each.

Values and one reader of them. The names of `manifests.objects` are handed on to those who judge
claims.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from netclaim.manifests.kinds import CLAIM_SPECS
from netclaim.manifests.objects import Index, Object, inside
from netclaim.model.claim import JsonObject
from netclaim.paths import Path

__all__ = ["CLAIM_SPECS", "Index", "Subject", "Wanted", "inside", "steps", "wanted"]

Subject: TypeAlias = Object
STEP: Final = re.compile(r"\[(\d+)\]|\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request of a claim, or one of a request's alternatives."""

    name: str  # as configurations name it: `nic`, or `nic/fast` for an alternative
    path: Path
    fields: JsonObject

    @property
    def class_name(self) -> str:
        """The DeviceClass it names."""
        return str(self.fields.get("deviceClassName", ""))


def wanted(claim: Object) -> Iterator[tuple[Wanted, ...]]:
    """Each request of a claim or template, as the alternatives that it has; none if it is empty."""
    spec = CLAIM_SPECS[claim.kind]
    devices = inside(claim.object, (*spec, "devices"))
    for number, request in enumerate(devices.get("requests", ())):
        name = request.get("name", "")
        path: Path = (*spec, "devices", "requests", number)
        if "exactly" in request:
            yield (Wanted(name, (*path, "exactly"), request["exactly"]),)
        else:
            yield tuple(
                Wanted(f"{name}/{one.get('name', '')}", (*path, "firstAvailable", index), one)
                for index, one in enumerate(request.get("firstAvailable", ()))
            )


def steps(field: str) -> Path:
    """Read a path in words, such as `spec.devices.requests[0].name`."""
    found = STEP.findall(field)
    return tuple(int(number) if number else key or name for number, key, name in found)
