"""A driver's slices on a server, by the watch that the driver itself uses."""

from contextlib import aclosing

from netclaim.kube import DraApi, Synced
from netclaim.model.claims.claim import JsonObject

__all__ = ["slices_of"]


async def slices_of(api: DraApi, driver: str, node: str) -> tuple[JsonObject, ...]:
    """What a watch of the slices begins with."""
    async with aclosing(api.watch_slices(driver, node).changes()) as changes:
        synced = await anext(changes)
    assert isinstance(synced, Synced)
    return synced.objects
