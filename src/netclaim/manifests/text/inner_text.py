"""A text inside a document that is a document itself, such as JSON in a string, with its lines.

No I/O. Promise: lines of the inner document are those of the file. Limit: a text with escapes
has no lines of its own.
"""

from dataclasses import replace
from functools import lru_cache

import yaml

from netclaim.manifests.text.documents import Document, ManifestError, read_documents
from netclaim.paths import Path

BLOCKS = ("|", ">")


@lru_cache(maxsize=4)  # a caller that asks for one line of a text often asks for several
def inner_document(document: Document, path: Path) -> Document | None:
    """Return the text at a path as a document; None if it is none, or has no lines to show."""
    node = document.node_at(path)
    if not isinstance(node, yaml.ScalarNode) or node.style == '"':
        return None
    raw = document.text[node.start_mark.index : node.end_mark.index]
    is_block = node.style in BLOCKS
    raw = raw.partition("\n")[2] if is_block else raw.strip("'")
    try:
        found = read_documents(raw, document.source)
    except ManifestError:
        return None
    first_line = document.first_line + node.start_mark.line + is_block
    only = found[0]
    return replace(only, first_line=first_line) if len(found) == 1 else None
