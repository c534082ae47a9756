"""What a claim asks for: its requests, and the alternatives of each.

Values and one reader of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from netclaim.manifests.kinds import CLAIM_SPECS
from netclaim.manifests.objects import Object, inside
from netclaim.model.claim import JsonObject
from netclaim.paths import Path

__all__ = ["Wanted", "wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request of a claim, or one of a request's alternatives."""

    request: str
    path: Path
    fields: JsonObject
    alternative: str | None = None

    @property
    def name(self) -> str:
        """How configurations name it: `nic`, or `nic/fast` for an alternative."""
        return self.request if self.alternative is None else f"{self.request}/{self.alternative}"

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
                Wanted(name, (*path, "firstAvailable", index), one, one.get("name", ""))
                for index, one in enumerate(request.get("firstAvailable", ()))
            )
