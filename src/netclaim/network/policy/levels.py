"""How far claims are trusted: the levels of a namespace, and the label that chooses one.

Alone in a module, because help texts and settings name them and need nothing else of the policy.
"""

import enum
from collections.abc import Mapping
from typing import Final


class Level(enum.IntEnum):
    """How far a namespace's claims are trusted; each includes the ones before it."""

    RESTRICTED = 0
    BASELINE = 1
    PRIVILEGED = 2

    def __str__(self) -> str:
        return self.name.lower()


LEVELS: Final[Mapping[str, Level]] = {str(level): level for level in Level}
"""The levels by their names."""

LABEL: Final = "cni.networking.x-k8s.io/policy"
"""The label of a namespace that chooses its level. Labels of namespaces are an admin's to set."""
