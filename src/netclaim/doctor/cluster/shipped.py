"""The permissions and policies that belong to this version of the driver: the files of `deploy/`.

A wheel has them in the package `doctor`, a checkout at its top. Promise: they are the same objects
that `kubectl apply -f deploy/` sends to the API server.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from netclaim.errors import HostError
from netclaim.manifests.text.documents import read_documents
from netclaim.model.claims.claim import JsonObject

RIGHTS: Final = "rbac.yaml"
NODE_POLICIES: Final = "node-admission.yaml"
CLAIM_POLICIES: Final = "claim-admission.yaml"
PLACES: Final = (Path(__file__).parents[1] / "deploy", Path(__file__).parents[4] / "deploy")
# What the API server fills in where a manifest says nothing.
DEFAULTS: Final[Mapping[str, object]] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "scope": "*",
}


@cache
def shipped(name: str) -> tuple[JsonObject, ...]:
    """Return the objects of a file of `deploy/`."""
    documents = read_documents(_path(name).read_text(), f"deploy/{name}")
    return tuple(found for document in documents for _, found in document.entries())


def how_to_apply(name: str) -> str:
    """Return the command that installs a file of `deploy/`."""
    path = _path(name)
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return f"kubectl apply -f {shown}; or `helm upgrade`, if the driver was installed by Helm"


def _path(name: str) -> Path:
    path = next((place / name for place in PLACES if (place / name).is_file()), None)
    if path is None:
        raise HostError(f"deploy/{name} is not in this installation of netclaim")
    return path


def differences(wanted: Any, found: Any, at: str = "") -> Iterator[str]:
    """Yield the paths at which an installed object is not as shipped; defaults do not count."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key in sorted({*wanted, *found}):
            below = f"{at}.{key}" if at else str(key)
            if key in wanted:
                yield from differences(wanted[key], found.get(key), below)
            elif key not in DEFAULTS or found[key] != DEFAULTS[key]:
                yield below
    elif _is_list(wanted) and _is_list(found):
        if len(wanted) != len(found):
            yield at
        for number, (one, other) in enumerate(zip(wanted, found, strict=False)):
            yield from differences(one, other, f"{at}[{number}]")
    elif wanted != found:
        yield at


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
