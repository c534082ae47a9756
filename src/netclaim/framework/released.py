"""Where claims were released a moment ago that a pod which is about to start may have by name.

Kubelet releases a claim for a pod that has ended without looking whose it is by then. If it hits a
pod between prepare and sandbox, that pod would start without its interface. So for a while after
the release of a claim that several pods can name, pods of its namespace are looked up again.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.framework.clock import Clock

__all__ = ["ReleasedLately"]

LATELY_S: Final = 120.0  # a pod whose claims are prepared has its sandbox within seconds


class ReleasedLately:
    """The namespaces with such a release."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, str], float] = {}  # by namespace and claim

    def note(self, namespace: str, claim_uid: str) -> None:
        """A claim of the namespace is released. Again: from now on."""
        self._since = self._recent()
        self._since[namespace, claim_uid] = self._clock.monotonic()

    def has(self, namespace: str) -> bool:
        """Whether that was a moment ago."""
        return namespace in self.claims()

    def claims(self) -> Mapping[str, frozenset[str]]:
        """The claims that were released a moment ago, by namespace."""
        found: dict[str, frozenset[str]] = {}
        for namespace, claim_uid in self._recent():
            found[namespace] = found.get(namespace, frozenset()) | {claim_uid}
        return found

    def _recent(self) -> dict[tuple[str, str], float]:
        now_s = self._clock.monotonic()
        return {key: at_s for key, at_s in self._since.items() if now_s - at_s <= LATELY_S}
