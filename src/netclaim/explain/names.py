"""How users name a kind, as for kubectl: singular, plural, short, with its group."""

from collections.abc import Mapping
from typing import Final

from netclaim.manifests.kinds import CLAIM_SPECS, POD_SPECS

SHORT: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("po",),
    "Deployment": ("deploy",),
    "ReplicaSet": ("rs",),
    "ReplicationController": ("rc",),
    "StatefulSet": ("sts",),
    "DaemonSet": ("ds",),
    "CronJob": ("cj",),
    "ResourceClaim": ("claim", "claims"),
    "ResourceClaimTemplate": ("template", "templates"),
}
KINDS: Final = (*POD_SPECS, *CLAIM_SPECS)
WORDS: Final[Mapping[str, str]] = {
    word: kind
    for kind in KINDS
    for word in (kind.lower(), f"{kind.lower()}s", *SHORT.get(kind, ()))
}


def kind_named(word: str) -> str:
    """Return the kind that a word such as `deploy` or `deployments.apps` means, or nothing."""
    return WORDS.get(word.lower().partition(".")[0], "")
