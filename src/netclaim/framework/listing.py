"""What runs on the node, asked of the runtime where it does not tell by itself.

NRI lists all sandboxes whenever the driver connects. A driver that is called by the runtime's CNI
chain alone asks through CRI, once in each turn at the work.
"""

import asyncio
from collections.abc import Callable, Sequence

import structlog

from netclaim.cri import CriClient, NoRuntimeError
from netclaim.model.pod import PodSandbox

__all__ = ["list_once"]

log = structlog.get_logger()


async def list_once(runtime: CriClient, note: Callable[[Sequence[PodSandbox]], None]) -> None:
    """Note the sandboxes that run, and never return. Raises RuntimeCallError; again: anew.

    CRI lists a sandbox when it is made, and so not one whose network is being attached.
    """
    try:
        note(await _running(runtime))
    except NoRuntimeError as error:
        log.warning("repair.not_listed", error=str(error))
    await asyncio.Event().wait()


async def _running(runtime: CriClient) -> list[PodSandbox]:
    pods = []
    for each in await runtime.list():
        status = await runtime.status(each.id) if each.ready else None
        if status is not None and status.ready and status.netns:
            pod = PodSandbox(each.id, each.uid, each.namespace, each.name, netns=status.netns)
            pods.append(pod)
    return pods
