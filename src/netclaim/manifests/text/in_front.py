"""Put new objects in front of a document, as the file has its documents. No I/O.

Promise: a stream of JSON stays one, and in YAML each object is a document of its own, whatever the
document begins with.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

import yaml

from netclaim.manifests.text.documents import Document
from netclaim.manifests.text.yaml_dialect import dump
from netclaim.model.claims.claim import JsonObject

MARKER: Final = re.compile(r"^---(\s|$)", re.MULTILINE)
INDENT: Final = 2


def with_objects_in_front(document: Document, text: str, objects: Sequence[JsonObject]) -> str:
    """Return the new text of a document behind new objects."""
    if not objects:
        return text
    root = document.root
    assert isinstance(root, yaml.MappingNode)  # or it would have no new text
    above = document.text[: root.start_mark.index]
    if root.flow_style and not above.strip():
        printed = (json.dumps(one, indent=INDENT, ensure_ascii=False) for one in objects)
        return "".join(f"{one}\n" for one in printed) + text
    marker = "" if MARKER.search(above) else "---\n"
    return "".join(f"---\n{dump(one)}" for one in objects) + marker + text
