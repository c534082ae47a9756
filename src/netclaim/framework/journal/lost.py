"""What running pods had by attachments that were lost, until they have it again.

Promise: kept from before the attachment is undone until there is another one, across the ends of
the process; dropped with its claim, with its sandbox, and with a reboot, which ends all sandboxes.
A row that cannot be read is logged and dropped: the interface is then made as at first. Limit: rows
are in the journal's table of single entries, beside others.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec
import structlog

from netclaim.framework.journal.store import INSERT_META, Statement, Store
from netclaim.model.on_node.attachment import AttachmentKey, Interface

log = structlog.get_logger(__name__)

PREFIX: Final = "lost/"
DELETE: Final = "DELETE FROM meta WHERE key = ?"
SELECT: Final = "SELECT value FROM meta WHERE key GLOB 'lost/*' ORDER BY key"
SELECT_NAMES: Final = "SELECT key FROM meta WHERE key GLOB 'lost/*' ORDER BY key"


class LostInterface(msgspec.Struct, frozen=True):
    """What the pod had by an attachment."""

    key: AttachmentKey
    interface: Interface

    @property
    def row(self) -> Statement:
        return (INSERT_META, (_name(self.key), msgspec.json.encode(self).decode()))


class LostInterfaces:
    """Those that the journal has, in memory. Statements change the file, and `put`, `drop` this."""

    def __init__(self) -> None:
        self._had: dict[AttachmentKey, Interface] = {}

    @property
    def had(self) -> Mapping[AttachmentKey, Interface]:
        return MappingProxyType(self._had)

    def put(self, lost: Iterable[LostInterface]) -> None:
        self._had |= {each.key: each.interface for each in lost}

    def drop(self, keys: Iterable[AttachmentKey]) -> None:
        for key in keys:
            self._had.pop(key, None)

    def of_claim(self, claim_uid: str) -> tuple[AttachmentKey, ...]:
        return tuple(key for key in self._had if key[0] == claim_uid)

    def of_sandbox(self, sandbox_id: str) -> tuple[AttachmentKey, ...]:
        return tuple(key for key in self._had if key[1] == sandbox_id)

    def load(self, store: Store, claims: Collection[str]) -> None:
        """Read those of the claims, and drop all others."""
        dropped: list[Statement] = []
        names, values = store.rows(SELECT_NAMES), store.rows(SELECT)
        for name, value in zip(names, values, strict=True):
            try:
                found = _LOST.decode(value)
            except msgspec.DecodeError as error:
                log.warning("journal.unreadable", row=name, error=str(error))
            else:
                if found.key[0] in claims:
                    self.put([found])
                    continue
            dropped.append((DELETE, (name,)))
        store.commit(dropped)


def drops(keys: Iterable[AttachmentKey]) -> list[Statement]:
    """Statements that take rows out of the file."""
    return [(DELETE, (_name(key),)) for key in keys]


def _name(key: AttachmentKey) -> str:
    return PREFIX + msgspec.json.encode(key).decode()


_LOST = msgspec.json.Decoder(LostInterface)
