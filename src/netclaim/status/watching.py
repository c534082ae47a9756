"""Ask a cluster for its status: once, or again at every change.

Promise: only the kinds that a view needs are listed. Watching redraws a terminal in place; in a
pipe it prints everything once, then the rows that changed. It goes on while the API server is away,
and ends with Ctrl-C. Limit: what could not be listed at first is not shown later either.
"""

import asyncio
import logging
import signal
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

import structlog

from netclaim.errors import INTERRUPTED
from netclaim.kube import Client, Cluster, connect, negotiate
from netclaim.status.compose import compose
from netclaim.status.scope import Scope, View, narrow
from netclaim.status.showing.displays import Display
from netclaim.status.values import Status
from netclaim.survey.cluster import LEASE, NETWORK, POOL, RULE, Found, Wanted, look
from netclaim.survey.driver_pods import DRIVER_PODS
from netclaim.survey.follow import Moment, follow

NEEDED: Final[dict[View, tuple[str, ...]]] = {
    "overview": ("Node", "ResourceSlice", "DeviceClass", "ResourceClaim", "Pod"),
    "nodes": ("Node", "ResourceSlice", "DeviceClass", "ResourceClaim", "Pod"),
    "links": ("ResourceSlice", "DeviceClass", "ResourceClaim"),
    "claims": ("ResourceSlice", "DeviceClass", "ResourceClaim", "Pod"),
    "pods": ("ResourceSlice", "DeviceClass", "ResourceClaim", "Pod"),
    "networks": ("Node", "ResourceSlice", "DeviceClass", "ResourceClaim", "Pod"),
    "pools": ("ResourceSlice", "DeviceClass", "ResourceClaim", "Pod"),
}
# What there need not be, and not everybody may list. All leases of a cluster are for those who ask.
FURTHER: Final[dict[View, tuple[str, ...]]] = {
    "overview": (NETWORK, POOL),
    "networks": (NETWORK,),
    "pools": (POOL, LEASE),
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be shown of a cluster."""

    scope: Scope
    drivers: frozenset[str]
    every_driver: bool = False
    usual_namespace: str = "default"

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """What has to be listed: claims of all namespaces, because they say who uses what.

        At least the pods of drivers are listed, because whether a link can be used depends on them.
        """
        space = self.scope.namespace
        needed = tuple(
            Wanted(kind, space if kind == "Pod" else "", space or self.usual_namespace)
            for kind in NEEDED[self.scope.view]
        )
        kinds = (RULE, *FURTHER.get(self.scope.view, ()))
        further = tuple(Wanted(kind, optional=True) for kind in kinds)
        if "Pod" in NEEDED[self.scope.view]:
            return (*needed, *further)
        return (*needed, Wanted("Pod", labels=DRIVER_PODS, optional=True), *further)

    def answer(self, moment: Moment, notes: tuple[str, ...] = (), *, strict: bool = True) -> Status:
        """Put the answer together; unless `strict`, names that were asked for may be missing."""
        lost = (f"the API server does not answer, so this may be old: {moment.fault}",)
        whole = compose(
            moment.objects,
            self.drivers,
            every_driver=self.every_driver,
            notes=(*notes, *(lost if moment.fault else ())),
        )
        return narrow(whole, self.scope, strict=strict)


async def ask(cluster: Cluster, question: Question) -> Status:
    async with connect(cluster) as client:
        found = await look(client, question.wanted, await negotiate(client))
    return question.answer(_moment(found), found.refused)


async def watch(cluster: Cluster, question: Question, lent: AbstractContextManager[Display]) -> int:
    """Show the answer on a display again and again until interrupted; return the exit code."""
    # What interrupts a watch is in the status; a log would end up in the middle of it.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    loop = asyncio.get_running_loop()
    async with connect(cluster) as client:
        with lent as display:
            watching = asyncio.create_task(_watch(client, question, display))
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, watching.cancel)
            loop.add_signal_handler(signal.SIGWINCH, display.again)
            try:
                await watching
            except asyncio.CancelledError:
                pass
            finally:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGWINCH):
                    loop.remove_signal_handler(number)
    return INTERRUPTED


async def _watch(client: Client, question: Question, display: Display) -> None:
    version = await negotiate(client)
    found = await look(client, question.wanted, version)
    display.show(question.answer(_moment(found), found.refused))

    def draw(moment: Moment) -> None:
        display.show(question.answer(moment, found.refused, strict=False))

    await follow(client, found.listed, version, draw)


def _moment(found: Found) -> Moment:
    return Moment(tuple(one.object for one in found.objects))
