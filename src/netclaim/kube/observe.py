"""Describe a request to the API server in the API's own words, for metrics.

Promise: verb and resource are each one of a few, whatever the path is; names of objects and
namespaces are left out. No I/O.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

RESOURCES: Final = frozenset(
    {
        "addressleases",
        "addresspools",
        "endpointslices",
        "events",
        "namespaces",
        "nodes",
        "pods",
        "resourceclaims",
        "resourceclaims/status",
        "resourceslices",
        "subjectaccessreviews",
        "tokenreviews",
    }
)
OTHER: Final = "other"
VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
NO_ANSWER: Final = "none"


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that is over: how it ended, and how long it took."""

    verb: str
    resource: str
    code: str  # the HTTP status, or NO_ANSWER
    took_s: float


Observe: TypeAlias = Callable[[Answered], None]


def unobserved(answered: Answered) -> None:
    """Ignore it."""


def describe(method: str, path: str, *, watch: bool = False) -> tuple[str, str]:
    """Return the verb and the resource of a request."""
    parts = path.strip("/").split("/")
    # The resource follows api and version, or apis, group and version.
    below = parts[2:] if parts[0] == "api" else parts[3:]
    if below[:1] == ["namespaces"] and len(below) > 2:
        below = below[2:]
    plural, name, subresource = (*below, "", "", "")[:3]
    resource = f"{plural}/{subresource}" if subresource else plural
    verb = VERBS.get(method) or ("list" if plural and not name else "get")
    return "watch" if watch else verb, resource if resource in RESOURCES else OTHER
