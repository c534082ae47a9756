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

FORBIDDEN: Final = "403"
REMEMBERED_S: Final = 600.0  # kubelet asks again for a pod that waits within 90 s
# What the driver tries again by itself, at least every 30 s, is refused again before this. A write
# that was refused may not be needed any more when the right is back, and then nothing shows that.
RETRIED_S: Final = 45.0
# How long a refusal counts, by verb and resource.
NEEDED: Final = {
    # Nothing is prepared without: a claim is read, and its namespace for the policy's level.
    ("get", "resourceclaims"): REMEMBERED_S,
    ("get", "namespaces"): REMEMBERED_S,
    # The scheduler works with devices as they were, or with none.
    **{
        (verb, "resourceslices"): RETRIED_S
        for verb in ("list", "watch", "create", "update", "delete")
    },
    # Nobody sees what became of a claim, and a refused one keeps its devices.
    ("patch", "resourceclaims/status"): RETRIED_S,
}


class Rights:
    def __init__(self, clock: Clock, further: Callable[[Answered], None] = unobserved) -> None:
        """`further` is called with every answer, too."""
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
        now_s = self._clock.monotonic()
        missing = [
            " ".join(right)
            for right, at_s in sorted(self._refused_s.items())
            if now_s - at_s < NEEDED[right]
        ]
        if not missing:
            return ""
        return f"the API server forbids the driver to {', '.join(missing)}; see its role (RBAC)"
