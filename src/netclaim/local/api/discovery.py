"""What the server serves: its groups, their versions, the kinds in each."""

from collections.abc import Iterable
from typing import Final

from netclaim import __version__
from netclaim.local.api.openapi import openapi_documents
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import KINDS, POD, Address

VERBS: Final = ["create", "delete", "get", "list", "patch", "update", "watch"]
EVICTIONS: Final = {
    "name": "pods/eviction",
    "singularName": "",
    "namespaced": True,
    "group": "policy",
    "version": "v1",
    "kind": "Eviction",
    "verbs": ["create"],
}
_ADDRESSES: Final = tuple(dict.fromkeys(a for kind in KINDS for a in kind.addresses))


def discover(path: str) -> JsonObject | None:
    """Return the document at a path; None if the path is not one of discovery."""
    return _DOCUMENTS.get(path.rstrip("/"))


def _versions(group: str) -> list[JsonObject]:
    return [
        {"groupVersion": address.api_version, "version": address.version}
        for address in _ADDRESSES
        if address.group == group
    ]


def _group(name: str) -> JsonObject:
    versions = _versions(name)
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resources(address: Address) -> JsonObject:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": address.api_version,
        "resources": list(_entries(address)),
    }


def _entries(address: Address) -> Iterable[JsonObject]:
    for kind in KINDS:
        if address not in kind.addresses:
            continue
        common = {"namespaced": kind.namespaced, "kind": kind.name}
        names = {"name": kind.plural, "singularName": kind.name.lower()}
        short = {"shortNames": [kind.short]} if kind.short else {}
        yield {**names, **common, "verbs": VERBS, **short}
        if kind.has_status:
            verbs = ["get", "patch", "update"]
            yield {"name": f"{kind.plural}/status", "singularName": "", **common, "verbs": verbs}
        if kind is POD:
            yield dict(EVICTIONS)


def _documents() -> dict[str, JsonObject]:
    groups = list(dict.fromkeys(address.group for address in _ADDRESSES if address.group))
    head = {"apiVersion": "v1"}
    return {
        # The rules are those of 1.37; clients that compare versions find one that they know.
        "/version": {"major": "1", "minor": "37", "gitVersion": f"v1.37.0+netclaim-{__version__}"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", **head, "groups": [_group(name) for name in groups]},
        **{f"/apis/{name}": {"kind": "APIGroup", **head, **_group(name)} for name in groups},
        **{
            f"/{'apis' if address.group else 'api'}/{address.api_version}": _resources(address)
            for address in _ADDRESSES
        },
        **openapi_documents(),
    }


_DOCUMENTS: Final = _documents()
