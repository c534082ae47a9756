"""A node for the framework's tests: the runtime's hooks before a stage, and repairs that run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from netclaim.model import PodSandbox
from netclaim.nri import Container, ContainerHook
from tests.support.framework.parts import (
    ScriptedDriver,
    Stage,
    claim_of,
    device_of,
    stage_in,
)

RED = claim_of("red")
TWO = claim_of("two", device_of("eth1"), device_of("eth2"))
CONTAINER = Container(id="c1", pod_sandbox_id="sandbox-1", name="main")


class Node:
    """A stage that the runtime's hooks reach."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.sandboxes = stage.sandboxes
        self.reconciler = stage.reconciler
        self.repairer = stage.repairer
        self.hooks = stage.hooks

    async def run(self, pod: PodSandbox, *, within_s: float = 60.0) -> None:
        """RunPodSandbox."""
        await self.hooks.run_pod_sandbox(pod, deadline_s=deadline(within_s))

    async def create(self, pod: PodSandbox, *, within_s: float = 60.0) -> ContainerHook | None:
        """CreateContainer."""
        return await self.hooks.create_container(pod, CONTAINER, deadline_s=deadline(within_s))

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
    directory: Path,
    *,
    boot_id: str = "boot-1",
    complete: bool = True,
    limit_s: float = 30.0,
    driver: ScriptedDriver | None = None,
    **parts: Any,
) -> AsyncIterator[Node]:
    """A node whose repairer runs; unless `complete`, on a journal that may lack something."""
    async with (
        stage_in(
            directory, boot_id=boot_id, driver=driver, complete=complete, limit_s=limit_s, **parts
        ) as stage,
        asyncio.TaskGroup() as group,
    ):
        repairing = group.create_task(stage.repairer.run())
        yield Node(stage)
        repairing.cancel()
