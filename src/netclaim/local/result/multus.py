"""What a pod asks of Multus, which netclaim does not provide. No I/O.

Promise: whatever the annotation contains, its networks are named as far as they can be read.
"""

from typing import Any, Final

from netclaim.convert.multus.annotation import ANNOTATION
from netclaim.json_text import read_json
from netclaim.model.claims.claim import JsonObject

CLAIM_INSTEAD: Final = (
    "netclaim attaches networks by claim; `netclaim convert` writes claims for it (docs/convert.md)"
)


def missing_networks(pod: JsonObject) -> str:
    """Return which networks a pod asks Multus for; empty if it asks for none."""
    value = (pod["metadata"].get("annotations") or {}).get(ANNOTATION, "").strip()
    names = _names(value)
    if not names:
        return ""
    return f"{', '.join(names)} of the annotation {ANNOTATION}; {CLAIM_INSTEAD}"


def _names(value: str) -> list[str]:
    if not value.startswith("["):
        return [name for part in value.split(",") if (name := part.strip())]
    try:
        entries: Any = read_json(value)
    except ValueError:
        return [value]
    named = [one for one in entries if isinstance(one, dict) and one.get("name")]
    return ["/".join(filter(None, (one.get("namespace"), one["name"]))) for one in named]
