"""A node for the framework's tests: the runtime's hooks before a stage, and repairs that run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from netclaim.framework.hooks import RuntimeHooks
from netclaim.framework.repair import Repairer
from netclaim.model import PodSandbox
from netclaim.nri import Container
from tests.pure.framework_parts import (
    Stage,
    claim_of,
    device_of,
    stage_in,
)

RED = claim_of("red")
TWO = claim_of("two", device_of("eth1"), device_of("eth2"))
CONTAINER = Container(id="c1", pod_sandbox_id="sandbox-1", name="main")


class Node:
    """A stage with the runtime's hooks before it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.repairer = Repairer(
            stage.attacher,
            stage.adopter,
            stage.journal,
            stage.clock,
            stage.netns_exists,
            release=stage.preparer.release_ended,
        )
        self.hooks = RuntimeHooks(
            stage.attacher,
            stage.adopter,
            self.repairer,
            hook_time=stage.hook_time,
            clock=stage.clock,
        )

    async def run(self, pod: PodSandbox, *, within_s: float = 60.0) -> None:
        """RunPodSandbox."""
        await self.hooks.run_pod_sandbox(pod, deadline_s=deadline(within_s))

    async def create(self, pod: PodSandbox, *, within_s: float = 60.0) -> None:
        """CreateContainer."""
        await self.hooks.create_container(pod, CONTAINER, deadline_s=deadline(within_s))

    async def stop(self, pod: PodSandbox, *, within_s: float = 60.0) -> None:
        """StopPodSandbox."""
        await self.hooks.stop_pod_sandbox(pod, deadline_s=deadline(within_s))

    async def remove(self, pod: PodSandbox) -> None:
        """RemovePodSandbox."""
        await self.hooks.remove_pod_sandbox(pod, deadline_s=deadline(60.0))

    async def synchronize(self, *pods: PodSandbox) -> None:
        """Synchronize."""
        await self.hooks.synchronize(pods, [], deadline_s=deadline(60.0))


def deadline(within_s: float) -> float:
    """So many seconds from now, on the loop's clock."""
    return asyncio.get_running_loop().time() + within_s


@asynccontextmanager
async def node_in(
    directory: Path, *, boot_id: str = "boot-1", complete: bool = True
) -> AsyncIterator[Node]:
    """A node whose repairer runs; unless `complete`, on a journal that may lack something."""
    async with stage_in(directory, boot_id=boot_id) as stage:
        if complete:
            await stage.journal.mark_complete()
        node = Node(stage)
        async with asyncio.TaskGroup() as group:
            repairing = group.create_task(node.repairer.run())
            yield node
            repairing.cancel()
