"""Where claims were released a moment ago that a pod which is about to start may have by name.

Kubelet releases a claim for a pod that has ended without looking whose it is by then. If it hits a
pod between prepare and sandbox, that pod would start without its interface. So for a while after
the release of a claim that several pods can name, pods of its namespace are looked up again.
"""

from typing import Final

from netclaim.framework.clock import Clock

__all__ = ["ReleasedLately"]

LATELY_S: Final = 120.0  # a pod whose claims are prepared has its sandbox within seconds


class ReleasedLately:
    """The namespaces with such a release."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def note(self, namespace: str) -> None:
        """A claim of the namespace was released."""
        now_s = self._clock.monotonic()
        recent = {ns: at_s for ns, at_s in self._since.items() if now_s - at_s <= LATELY_S}
        self._since = recent | {namespace: now_s}

    def has(self, namespace: str) -> bool:
        """Whether that was a moment ago."""
        since_s = self._since.get(namespace, float("-inf"))
        return self._clock.monotonic() - since_s <= LATELY_S
