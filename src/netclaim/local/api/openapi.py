"""The documents that kubectl asks for before it creates or applies: which paths check fields.

Promise: kubectl finds that the server checks fields itself, and leaves it to the server. Limit:
that is all that they say; `kubectl explain` finds no schemas here.
"""

from collections.abc import Iterator
from typing import Final

from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import KINDS, Address

ROOT: Final = "/openapi/v3"
CHECKS: Final = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
ADDRESSES: Final = tuple(dict.fromkeys(a for kind in KINDS for a in kind.addresses))


def openapi_documents() -> dict[str, JsonObject]:
    """Return the documents by their paths."""
    below = {_below(address): address for address in ADDRESSES}
    index = {name: {"serverRelativeURL": f"{ROOT}/{name}"} for name in below}
    documents = {f"{ROOT}/{name}": _document(address) for name, address in below.items()}
    return {ROOT: {"paths": index}, **documents}


def _below(address: Address) -> str:
    return f"{'apis' if address.group else 'api'}/{address.api_version}"


def _document(address: Address) -> JsonObject:
    return {
        "openapi": "3.0.0",
        "info": {"title": "netclaim", "version": "v1"},
        "paths": dict(_paths(address)),
        "components": {"schemas": {}},
    }


def _paths(address: Address) -> Iterator[tuple[str, JsonObject]]:
    for kind in KINDS:
        if address in kind.addresses:
            within = "/namespaces/{namespace}" if kind.namespaced else ""
            path = f"/{_below(address)}{within}/{kind.plural}/{{name}}"
            which = {"group": address.group, "version": address.version, "kind": kind.name}
            checked = {
                "parameters": [CHECKS],
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-group-version-kind": which,
            }
            yield path, {"patch": checked}
