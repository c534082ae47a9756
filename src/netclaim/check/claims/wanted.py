"""What a claim asks for: its requests, and the alternatives of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from netclaim.manifests.kinds import CLAIM_SPECS
from netclaim.manifests.objects import Index, Object, inside
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path


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
        return str(self.fields.get("deviceClassName", ""))


def wanted(claim: Object) -> Iterator[Wanted]:
    """Everything that a claim or template asks for, each alternative by itself."""
    return chain.from_iterable(alternatives(claim))


def alternatives(claim: Object) -> Iterator[tuple[Wanted, ...]]:
    """Each request of a claim or template, as its alternatives; an empty request has none."""
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


def class_of(one: Wanted, claim: Object, index: Index) -> Object | None:
    """The DeviceClass of what a claim asks for, if the files have it."""
    return index.find("DeviceClass", one.class_name, near=claim)


def expressions(one: Wanted, device_class: Object | None) -> Iterator[str]:
    """The selectors of what is asked for, and those of its class."""
    of_class = inside(device_class.object, ("spec",)) if device_class is not None else {}
    for selector in (*one.fields.get("selectors", ()), *of_class.get("selectors", ())):
        yield selector.get("cel", {}).get("expression", "")
