"""Where the objects come from: a cluster that is followed, or files that were read.

Promise: a cluster is only listed, watched and read. What the user may not list is left out, and a
note says so. Limit: what could not be listed at first does not appear later either.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from netclaim.controller.cluster.objects import POD_NETWORKS
from netclaim.kube import (
    EVENTS,
    Client,
    Cluster,
    ForbiddenError,
    NotFoundError,
    Selection,
    connect,
    negotiate,
)
from netclaim.manifests.objects import Object
from netclaim.survey.cluster import POOL, RULE, Wanted, look
from netclaim.survey.follow import Moment, follow

KINDS: Final = (
    *("Node", "ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "Pod"),
)
NO_NETWORKS: Final = "podnetworks cannot be listed"
# Of the Events of files: who they are about, in either API.
ABOUT: Final = ("regarding", "involvedObject")

Show: TypeAlias = Callable[[Moment, Iterable[str]], None]


@dataclass(frozen=True, slots=True)
class Files:
    """Objects of files, which do not change."""

    objects: Sequence[Object]

    async def run(self, show: Show) -> None:
        known = [one.object for one in self.objects if one.is_known or one.kind == RULE]
        show(Moment(tuple(known)), ())

    async def events(self, kind: str, namespace: str, name: str) -> list[dict[str, Any]]:
        """Return the events about an object that the files have."""
        found = (dict(one.object) for one in self.objects if one.kind == "Event")
        return [one for one in found if _is_about(one, kind, namespace, name)]


@dataclass(frozen=True, slots=True)
class Live:
    """A cluster that is followed until it is cancelled."""

    client: Client
    namespace: str  # to be listed if all namespaces together may not be

    async def run(self, show: Show) -> None:
        version = await negotiate(self.client)
        wanted = [Wanted(kind, at_least=self.namespace) for kind in KINDS]
        found = await look(
            self.client, [*wanted, *(Wanted(kind, optional=True) for kind in (RULE, POOL))], version
        )
        networks, refused = await self._networks()
        notes = (*found.refused, *refused)
        await follow(self.client, [*found.listed, *networks], version, lambda one: show(one, notes))

    async def _networks(self) -> tuple[list[Selection], list[str]]:
        """Return where PodNetworks are, if the cluster has them, or that they are refused."""
        selection = Selection(POD_NETWORKS)
        try:
            await self.client.list(selection)
        except NotFoundError:
            return [], []
        except ForbiddenError as error:
            return [], [f"{NO_NETWORKS}: {error}"]
        return [selection], []

    async def events(self, kind: str, namespace: str, name: str) -> list[dict[str, Any]]:
        """Return the events about an object."""
        fields = f"regarding.kind={kind},regarding.name={name}"
        # Events about what has no namespace are in `default`.
        listing = await self.client.list(Selection(EVENTS, namespace or "default", fields=fields))
        return list(listing.items)


@asynccontextmanager
async def live(cluster: Cluster, namespace: str = "") -> AsyncIterator[Live]:
    """Lend a cluster that is followed, connected as long as it is lent.

    `namespace` is listed if the user may not list all; by default, that of the context.
    """
    async with connect(cluster) as client:
        yield Live(client, namespace or cluster.namespace)


def _is_about(event: Mapping[str, Any], kind: str, namespace: str, name: str) -> bool:
    about: Mapping[str, Any] = next((event[key] for key in ABOUT if event.get(key)), {})
    wanted = (kind, namespace, name)
    return (about.get("kind"), about.get("namespace") or "", about.get("name")) == wanted
