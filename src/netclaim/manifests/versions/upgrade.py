"""Convert a file of manifests from one version of resource.k8s.io to another.

No I/O. Promise: documents that need no change, also empty ones, stay as they are, byte for byte;
a fault is a RequestError that begins with file and line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from netclaim.manifests.fields import ShapeError
from netclaim.manifests.kinds import GROUP
from netclaim.manifests.text.documents import NO_MANIFEST, Document
from netclaim.manifests.text.rewrite import rewrite
from netclaim.manifests.versions.conversion import Version
from netclaim.manifests.versions.migration import migrate
from netclaim.manifests.versions.remark import Migrated, Remark
from netclaim.paths import Path, show


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A file's new text, and lines about it that begin with file and line."""

    text: str
    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    converted: int = 0  # number of documents, like the next two
    kept: int = 0
    left_out: int = 0


def upgrade_documents(documents: Sequence[Document], to: Version) -> Upgraded:
    """Convert each document of a file; an empty one keeps its text and is not counted."""
    parts = [_upgrade(document, to) for document in documents]
    return Upgraded(
        text="".join(part.text for part in parts),
        notes=tuple(note for part in parts for note in part.notes),
        losses=tuple(loss for part in parts for loss in part.losses),
        converted=sum(part.converted for part in parts),
        kept=sum(part.kept for part in parts),
        left_out=sum(part.left_out for part in parts),
    )


def _upgrade(document: Document, to: Version) -> Upgraded:
    if document.is_empty:
        return Upgraded(document.text)
    if not isinstance(document.root, yaml.MappingNode):
        raise document.fault_at((), NO_MANIFEST)
    if not _may_change(document):
        return Upgraded(document.text, kept=1)
    data = document.data()
    migrated = _migrate(document, data, to)
    notes, losses = _said(document, migrated.remarks)
    if migrated.object is None:
        return Upgraded("", notes, losses, left_out=1)
    if migrated.object == data:
        return Upgraded(document.text, notes, losses, kept=1)
    done = _line(document, (), _title(document, data, to))
    return Upgraded(rewrite(document, migrated.object), (done, *notes), losses, converted=1)


def _may_change(document: Document) -> bool:
    """Look before building the data: a document that is not ours may be odd, or large."""
    ours = document.field("apiVersion").startswith(f"{GROUP}/")
    return ours or document.field("kind") == "List" or "resourceClaims" in document.text


def _migrate(document: Document, data: Any, to: Version) -> Migrated:
    try:
        return migrate(data, to)
    except ShapeError as error:
        raise document.fault_at(error.path, str(error)) from error


def _said(
    document: Document, remarks: tuple[Remark, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the notes and the losses as lines."""
    lines = [
        (remark.lost, _line(document, remark.path, f"{show(remark.path)}: {remark.text}"))
        for remark in remarks
    ]
    notes = tuple(line for lost, line in lines if not lost)
    return notes, tuple(f"{line} (lost)" for lost, line in lines if lost)


def _line(document: Document, path: Path, text: str) -> str:
    return f"{document.source}:{document.line_of(path)}: {text}"


def _title(document: Document, data: Any, to: Version) -> str:
    """Return what was done: `DeviceClass fast, v1beta1 -> v1`; `Pod app, claims as since 1.31`."""
    if document.field("kind") == "List":
        return f"List of {len(data['items'])} -> {to}"
    meta = data.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    title = f"{document.field('kind')}{f' {name}' if name else ''}"
    group, _, version = document.field("apiVersion").rpartition("/")
    return f"{title}, {version} -> {to}" if group == GROUP else f"{title}, claims as since 1.31"
