"""Rights that the driver needs and does not have, learned from the API server's answers.

Promise: a right without which no claim can be prepared, no device offered or no status written
makes the driver not ready once the API server has refused it, and ready again when it is granted.
Nothing is asked for this. Limit: a right that nobody has needed yet is not missed; a refusal that
is not repeated is forgotten after a while. An admission policy that forbids one write looks the
same, until another one is allowed.
"""

from collections.abc import Callable
from typing import Final

from netclaim.framework.tools.clock import Clock
from netclaim.kube import Answered
from netclaim.kube.observe import unobserved

NEEDED: Final = frozenset(
    {
        # Nothing is prepared without: a claim is read, and its namespace for the policy's level.
        ("get", "resourceclaims"),
        ("get", "namespaces"),
        # The scheduler works with devices as they were, or with none.
        *((verb, "resourceslices") for verb in ("list", "watch", "create", "update", "delete")),
        # Nobody sees what became of a claim, and a refused one keeps its devices.
        ("patch", "resourceclaims/status"),
    }
)
FORBIDDEN: Final = "403"
REMEMBERED_S: Final = 600.0  # kubelet asks again for a pod that waits within 90 s


class Rights:
    def __init__(self, clock: Clock, further: Callable[[Answered], None] = unobserved) -> None:
        """`further` is told of every answer, too."""
        self._clock = clock
        self._further = further
        self._refused_s: dict[tuple[str, str], float] = {}  # when last, by verb and resource

    def note(self, answered: Answered) -> None:
        """Learn from an answer of the API server."""
        self._further(answered)
        right = (answered.verb, answered.resource)
        if right not in NEEDED:
            return
        if answered.code == FORBIDDEN:
            self._refused_s[right] = self._clock.monotonic()
        elif answered.code.isdigit() and int(answered.code) < 500:
            self._refused_s.pop(right, None)

    def text(self) -> str:
        """What is missing, in words; empty if nothing is."""
        since_s = self._clock.monotonic() - REMEMBERED_S
        missing = [
            f"{verb} {resource}"
            for (verb, resource), at_s in sorted(self._refused_s.items())
            if at_s > since_s
        ]
        if not missing:
            return ""
        return f"the API server forbids the driver to {', '.join(missing)}; see its role (RBAC)"
