"""Server-side apply: who owns which fields of an object, and what a write changes in that.

Promise: an apply replaces all that its manager applied before, and removes what it left out unless
another manager owns it too; fields of others are a conflict, or taken over by force. Every other
write makes its writer the owner of what it changed. No I/O.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from netclaim.local.api.fieldset import (
    FieldPath,
    decode_fields,
    encode_fields,
    fields_of,
    merged,
    without_fields,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Key, Path
from netclaim.schema.refusal import Fault

# What every writer has to name, or only the server writes, is owned by nobody.
UNOWNED: Final = ("apiVersion", "kind")
UNOWNED_META: Final = (
    "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "generateName", "selfLink",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, how, on which subresource, and when."""

    manager: str
    operation: str  # Apply or Update
    subresource: str
    api_version: str
    time: str

    def is_owner(self, owner: "_Owner") -> bool:
        """Whether an entry is this writer's own."""
        other = owner.writer
        return (self.manager, self.operation, self.subresource) == (
            other.manager, other.operation, other.subresource,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Owner:
    writer: Writer
    fields: frozenset[FieldPath]


def conflicts(live: JsonObject, config: JsonObject, writer: Writer) -> tuple[Fault, ...]:
    """Return the fields that an apply would change although others own them."""
    wanted, there = _ownable(config), _ownable(live)
    faults = []
    for owner in _owners(live):
        if writer.is_owner(owner):
            continue
        for path in sorted(owner.fields & wanted.keys()):
            if there.get(path) != wanted[path]:
                message = f'conflict with "{owner.writer.manager}"'
                faults.append(Fault(_path(path), "FieldManagerConflict", message))
    return tuple(faults)


def applied(live: JsonObject, config: JsonObject, writer: Writer) -> JsonObject:
    """Return the object with a manager's new intent, which takes fields over that it changes."""
    wanted, there = _ownable(config), _ownable(live)
    owners = _owners(live)
    before = next((owner.fields for owner in owners if writer.is_owner(owner)), frozenset())
    taken = {path for path in wanted if there.get(path) != wanted[path]}
    others = [
        replace(owner, fields=owner.fields - taken)
        for owner in owners
        if not writer.is_owner(owner)
    ]
    kept = frozenset(wanted).union(*(owner.fields for owner in others))
    result = without_fields(merged(_bare(live), _bare(config)), before - kept)
    head = {key: live[key] for key in UNOWNED}
    meta = {key: live["metadata"][key] for key in UNOWNED_META if key in live["metadata"]}
    whole = {**head, **result, "metadata": {**meta, **result.get("metadata", {})}}
    return _with_owners(whole, [*others, _Owner(writer, frozenset(wanted))])


def written(new: JsonObject, old: JsonObject, writer: Writer) -> JsonObject:
    """Return the object after a plain write; the writer owns what it changed."""
    fields, before = _ownable(new), _ownable(old)
    changed = frozenset(path for path in fields if before.get(path, _NOTHING) != fields[path])
    owners = []
    own: frozenset[FieldPath] = frozenset()
    latest = writer
    for owner in _owners(old):
        left = owner.fields & fields.keys()
        if writer.is_owner(owner):
            own = left
            latest = writer if changed else owner.writer
        else:
            owners.append(replace(owner, fields=left - changed))
    return _with_owners(new, [*owners, _Owner(latest, own | changed)])


_NOTHING: Final = object()


def _ownable(found: Mapping[str, Any]) -> dict[FieldPath, Any]:
    return fields_of(_bare(found))


def _bare(found: Mapping[str, Any]) -> JsonObject:
    """Return the object without what nobody owns."""
    meta = {k: v for k, v in found.get("metadata", {}).items() if k not in UNOWNED_META}
    rest = {key: value for key, value in found.items() if key not in (*UNOWNED, "metadata")}
    return {**({"metadata": meta} if meta else {}), **rest}


def _owners(found: JsonObject) -> list[_Owner]:
    return [
        _Owner(
            Writer(
                manager=entry.get("manager", ""),
                operation=entry.get("operation", ""),
                subresource=entry.get("subresource", ""),
                api_version=entry.get("apiVersion", ""),
                time=entry.get("time", ""),
            ),
            decode_fields(entry.get("fieldsV1", {})),
        )
        for entry in found.get("metadata", {}).get("managedFields", ())
    ]


def _with_owners(found: JsonObject, owners: Iterable[_Owner]) -> JsonObject:
    entries = [
        {
            "manager": owner.writer.manager,
            "operation": owner.writer.operation,
            "apiVersion": owner.writer.api_version,
            "time": owner.writer.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": encode_fields(owner.fields),
            **({"subresource": owner.writer.subresource} if owner.writer.subresource else {}),
        }
        for owner in owners
        if owner.fields
    ]
    meta = {k: v for k, v in found.get("metadata", {}).items() if k != "managedFields"}
    if entries:
        meta["managedFields"] = entries
    return {**found, "metadata": meta}


def _path(path: FieldPath) -> Path:
    """Return a path that is shown as apply writes it: `.status.devices[device="e"].data`."""
    return ("", *(_step(step) for step in path if step != "."))


def _step(step: str) -> str:
    sort, _, text = step.partition(":")
    if sort == "f":
        return text
    if sort == "v":
        return Key(f"={text}")
    keys = json.loads(text).items()
    return Key(",".join(f"{key}={json.dumps(value)}" for key, value in keys))
