"""Keep a part of what a link can send for some of those who send over it.

The link gets a queue with two classes. What comes from the sources that are named goes into the
first, which is sure of its rate and served first; everything else goes into the second, which may
use what the first leaves. Promise: a queue that somebody else has given the link stays, and the
caller learns of it; what is taken away again leaves the kernel's own queue. Limit: only what the
link sends, not what it receives; and what a link's own neighbours say to each other without it, as
macvlans do, is not queued there.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Final

import msgspec

from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import KernelError
from netclaim.kernel.requests.classes import (
    Source,
    add_classes,
    classify,
    declassify,
    read_root,
    set_class,
)
from netclaim.kernel.requests.traffic import delete_root, dump_qdiscs

MODULES: Final = ("sch_htb", "cls_u32")  # of the kernel
ROOT, KEPT, OTHERS = 1, 0x10, 0x20  # the classes, below the handle of the queue
BYTE: Final = 8  # bits
# The part of a link that is for the others whatever is kept: a node has to be reached by its uplink
# even if claims have all of it.
OTHERS_PART: Final = 20
OURS: Final = "htb"


class Kept(msgspec.Struct, frozen=True):
    """What is kept of a link, in bits per second, and for whom."""

    of: int
    bits: int
    sources: tuple[Source, ...]


async def keep(rtnl: Rtnl, index: int, kept: Kept, queue: int) -> bool:
    """Keep a part of a link, or change what is kept; False: somebody else has queued its traffic.

    `queue` is the handle by which our queue is known again, in its upper half. If this fails, it
    raises KernelError and leaves the kernel's own queue.
    """
    kind, handle = (await roots(rtnl)).get(index, ("", 0))
    if handle and (kind, handle) != (OURS, queue):
        return False
    floor = kept.of // OTHERS_PART
    first = min(kept.bits, kept.of - floor) // BYTE
    others, whole = max(kept.of - kept.bits, floor) // BYTE, kept.of // BYTE
    requests = [
        set_class(index, queue | ROOT, queue, rate=whole, ceiling=whole),
        set_class(index, queue | OTHERS, queue | ROOT, rate=others, ceiling=whole, priority=1),
        set_class(index, queue | KEPT, queue | ROOT, rate=first, ceiling=whole),
    ]
    try:
        if not handle:
            await rtnl.batch([add_classes(index, queue, OTHERS), *requests])
        else:
            await rtnl.batch(requests)
            with suppress(KernelError):  # nothing was classified yet
                await rtnl.call(declassify(index, queue))
        await rtnl.batch([classify(index, queue, queue | KEPT, each) for each in kept.sources])
    except KernelError:
        await keep_nothing(rtnl, [index], queue)
        raise
    return True


async def keep_nothing(rtnl: Rtnl, indices: Collection[int], queue: int) -> None:
    """Give links the kernel's own queue again, if they have ours; may be repeated."""
    for index, root in (await roots(rtnl)).items():
        if index in indices and root == (OURS, queue):
            with suppress(KernelError):  # the link is gone
                await rtnl.call_slow(delete_root(index, queue))


async def roots(rtnl: Rtnl) -> dict[int, tuple[str, int]]:
    """The kind and the handle of each link's queue; the kernel's own have the handle 0."""
    read = (read_root(message) for message in await rtnl.dump(dump_qdiscs()))
    return {index: (kind, handle) for index, kind, handle in filter(None, read)}
