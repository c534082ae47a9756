"""What the caller of the plugin says of an attachment's lease, for as long as its ADD takes.

A server is no admin: what it gives is judged before an interface gets it. And a lease has to be
renewed for as long as the interface is there, which a plugin alone does not see to.
Promise: unless somebody who does has said so, no lease is taken.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from netclaim.cni import AttachmentKey
from netclaim.dhcp.granted import Granted

Refusal: TypeAlias = Callable[[Granted], str]
"""Why something that a server gives is not taken; an empty text where it is."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The attachments that may take leases now."""

    _refusals: dict[AttachmentKey, Refusal] = field(default_factory=dict)

    @contextmanager
    def during(self, key: AttachmentKey, refusal: Refusal) -> Iterator[None]:
        """Let an attachment take a lease inside the block; who lets it renews the lease."""
        self._refusals[key] = refusal
        try:
            yield
        finally:
            self._refusals.pop(key, None)

    def of(self, key: AttachmentKey) -> Refusal | None:
        """Return what is said of an attachment; None: it may not take a lease."""
        return self._refusals.get(key)
