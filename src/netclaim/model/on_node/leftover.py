"""What garbage collection works with: what exists on the node, and what is left over.

Promise: the values are frozen and serialisable. A `Leftover` says in one line what it is, and holds
everything that its driver needs to remove it. No I/O.
"""

from functools import cached_property

import msgspec

from netclaim.model.claims.claim import JsonObject
from netclaim.model.on_node.attachment import Attachment
from netclaim.model.on_node.plan import Plan


class Living(msgspec.Struct, frozen=True, dict=True):
    """What may have something on the node; what belongs to any of it is not a leftover.

    `attachments` are those in the journal, also half made or half undone; `claims` the UIDs of
    claims that are prepared or being prepared, and `plans` those of the prepared ones, whether or
    not a sandbox has anything of them yet. `sandboxes` are the ids of sandboxes that run or
    have something in the journal; None if the runtime could not be asked, so that a sandbox that
    is not in the journal may run nevertheless.
    """

    attachments: tuple[Attachment, ...] = ()
    claims: frozenset[str] = frozenset()
    plans: tuple[Plan, ...] = ()
    sandboxes: frozenset[str] | None = None

    def may_run(self, sandbox_id: str) -> bool | None:
        """Whether a sandbox lives; None if that is not known."""
        if self.sandboxes is not None:
            return sandbox_id in self.sandboxes
        return True if sandbox_id in self._journaled else None

    @cached_property
    def _journaled(self) -> frozenset[str]:
        return frozenset([each.pod.id for each in self.attachments])


class Leftover(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that stayed behind.

    `what` is one line for people. `claim_uid` or `sandbox_id` say whose it was: it is kept if that
    one turns out to exist. `memo` is the driver's own.
    """

    kind: str
    what: str
    claim_uid: str = ""
    sandbox_id: str = ""
    memo: JsonObject = {}
