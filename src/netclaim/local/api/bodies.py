"""Decode request bodies into objects of the stored form, and encode answers.

Promise: an object that gets through has the types and only the fields of its kind. Fields that the
kind does not have are left out, or refused if the client asks for strictness, as kubectl does.
"""

from typing import Any, Final

import msgspec

from netclaim.json_text import UNREADABLE, fault_of
from netclaim.local.api.forms import served, stored
from netclaim.local.api.target import Target
from netclaim.manifests.text.yaml_dialect import load_value
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import show
from netclaim.schema.kinds import Kind
from netclaim.schema.refusal import RefusedError, bad_request
from netclaim.schema.shapes.read import shape_of
from netclaim.schema.shapes.shape import fit

JSON: Final = "application/json"
YAML: Final = "application/yaml"


def parse(content: bytes, media_type: str) -> Any:
    """Decode a body by its media type."""
    if media_type in (YAML, "application/apply-patch+yaml"):
        try:
            return load_value(content)
        except ValueError as error:
            raise bad_request(f"error decoding YAML: {error}") from error
    if media_type not in (JSON, "") and not media_type.endswith("+json"):
        raise RefusedError(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include:"
            f" {JSON}, {YAML}",
        )
    try:
        return msgspec.json.decode(content)
    except UNREADABLE as error:
        raise bad_request(f"the object provided is unrecognized: {fault_of(error)}") from error


def read_object(found: Any, target: Target, *, strict: bool = False) -> JsonObject:
    """Check that an object is of the path's kind, and convert it to the stored form."""
    kind, address = target.kind, target.address
    if not isinstance(found, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.name})")
    if found.get("kind") not in (None, "", kind.name):
        raise _mismatch(kind, f"no kind {found['kind']!r} is served here")
    if found.get("apiVersion") not in (None, "", address.api_version):
        raise bad_request(
            f"the API version in the data ({found['apiVersion']}) does not match the expected API"
            f" version ({address.api_version})"
        )
    fitting, unknown = fit(found, shape_of(kind.name, address.version))
    if unknown and strict:
        message = ", ".join(f'unknown field "{show(path)}"' for path in unknown)
        raise _mismatch(kind, f"strict decoding error: {message}")
    obj = stored({"metadata": {}, **fitting}, kind, address)
    meta = obj["metadata"]
    if target.name and meta.setdefault("name", target.name) != target.name:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL"
            f" ({target.name})"
        )
    asked = target.namespace if target.name else ""
    if asked and meta.setdefault("namespace", asked) != asked:
        raise bad_request("the namespace of the object does not match the namespace on the URL")
    return obj


def as_served(obj: JsonObject, target: Target) -> JsonObject:
    """Return a stored object in the form of the path's address."""
    return served(obj, target.kind, target.address)


def _mismatch(kind: Kind, why: str) -> RefusedError:
    return bad_request(f"the object cannot be handled as a {kind.name}: {why}")
