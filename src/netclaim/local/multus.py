"""What a pod asks of Multus, which netclaim does not answer. No I/O.

Promise: whatever the annotation holds, its networks are named as far as they can be read.
"""

from typing import Any, Final

import msgspec

from netclaim.model.claim import JsonObject

__all__ = ["CLAIM_INSTEAD", "NETWORK", "missing_networks"]

ANNOTATION: Final = "k8s.v1.cni.cncf.io/networks"
NETWORK: Final = "NetworkAttachmentDefinition"
CLAIM_INSTEAD: Final = (
    "netclaim attaches networks by claim; write the network's CNI configuration into a"
    " ResourceClaim or a DeviceClass instead (docs/parameters.md)"
)


def missing_networks(pod: JsonObject) -> str:
    """Say which networks a pod asks Multus for; nothing if it asks for none."""
    value = (pod["metadata"].get("annotations") or {}).get(ANNOTATION, "").strip()
    names = _names(value)
    if not names:
        return ""
    return f"{', '.join(names)} of the annotation {ANNOTATION}; {CLAIM_INSTEAD}"


def _names(value: str) -> list[str]:
    if not value.startswith("["):
        return [name for part in value.split(",") if (name := part.strip())]
    try:
        entries: Any = msgspec.json.decode(value)
    except msgspec.DecodeError:
        return [value]
    named = [one for one in entries if isinstance(one, dict) and one.get("name")]
    return ["/".join(filter(None, (one.get("namespace"), one["name"]))) for one in named]
