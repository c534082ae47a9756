"""Duplicate address detection held back while interfaces are made.

The reference plugins wait until IPv6 addresses have been checked for duplicates, which takes one to
two seconds, while the other pods of the node wait for one second at most. Addresses here come from
an allocator that does not give one out twice. So interfaces made meanwhile start without the check,
and have it afterwards for addresses from elsewhere.

Promise: several interfaces of a pod may be made at the same time; the namespace's own setting is
as before when the last one is done.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from netclaim.kernel import Netns, NetnsId, call_in

CONF: Final = Path("/proc/sys/net/ipv6/conf")  # of the namespace that the calling thread is in
NEW_INTERFACES: Final = "default"
OFF: Final = "0"


class DadHold:
    """Holds the check back, in as many namespaces as need it."""

    def __init__(self) -> None:
        self._held: dict[NetnsId, tuple[int, str]] = {}  # how many interfaces, setting before

    @contextmanager
    def during(self, netns: Netns, ifname: str) -> Iterator[None]:
        """Make `ifname` inside the block. A namespace without IPv6 is left as it is."""
        count, before = self._held.get(netns.id, (0, None))
        if count == 0:
            before = call_in(netns, lambda: _swap(NEW_INTERFACES, OFF))
        if before is None:
            yield
            return
        self._held[netns.id] = (count + 1, before)
        try:
            yield
        finally:
            self._release(netns, ifname)

    def _release(self, netns: Netns, ifname: str) -> None:
        count, before = self._held.pop(netns.id)
        if count > 1:
            self._held[netns.id] = (count - 1, before)
        names = [ifname] if count > 1 else [ifname, NEW_INTERFACES]
        call_in(netns, lambda: [_swap(name, before) for name in names])


def _swap(interface: str, value: str) -> str | None:
    """Set an interface's accept_dad; returns what it was, None where there is none."""
    setting = CONF / interface / "accept_dad"
    try:
        before = setting.read_text().strip()
        setting.write_text(value)
    except OSError:  # no IPv6 here, or the interface was not made
        return None
    return before
