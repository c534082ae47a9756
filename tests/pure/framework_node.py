"""A node for the framework's tests: the runtime's hooks before a stage, and repairs that run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from netclaim.cri import SandboxStatus
from netclaim.framework.attaching import Attaching
from netclaim.framework.hold import Hold
from netclaim.framework.hooks import RuntimeHooks
from netclaim.framework.repair import Repairer
from netclaim.model import PodSandbox
from netclaim.nri import Container, ContainerHook
from tests.pure.framework_parts import (
    ScriptedDriver,
    Stage,
    claim_of,
    device_of,
    stage_in,
)

RED = claim_of("red")
TWO = claim_of("two", device_of("eth1"), device_of("eth2"))
CONTAINER = Container(id="c1", pod_sandbox_id="sandbox-1", name="main")


HOLD = Hold(Path("/opt/hold"), Path("/run/driver.sock"), Path("/run/attached"), limit_s=30.0)


class FakeSandboxes:
    """A runtime that knows of the sandboxes that a test tells it of."""

    def __init__(self) -> None:
        self.known: dict[str, SandboxStatus] = {}
        self.stopped: list[str] = []

    async def status(self, sandbox_id: str) -> SandboxStatus | None:
        """What the test said."""
        return self.known.get(sandbox_id)

    async def stop(self, sandbox_id: str) -> None:
        """Noted."""
        self.stopped.append(sandbox_id)


class Node:
    """A stage with the runtime's hooks before it."""

    def __init__(self, stage: Stage, limit_s: float) -> None:
        self.stage = stage
        self.sandboxes = FakeSandboxes()
        self.repairer = Repairer(
            stage.attacher,
            stage.adopter,
            stage.journal,
            stage.clock,
            has_netns=stage.has_netns,
            sandboxes=self.sandboxes,
            claims=stage.preparer,
            marks=stage.marks,
            on_record=lambda: stage.kubelet.claims,
        )
        self.attaching = Attaching(
            stage.attacher,
            stage.adopter,
            self.repairer,
            hook_time=stage.hook_time,
            clock=stage.clock,
            limit_s=limit_s,
        )
        self.hooks = RuntimeHooks(
            stage.attacher,
            stage.adopter,
            self.attaching,
            self.repairer,
            hold=HOLD,
            hook_time=stage.hook_time,
            metrics=stage.metrics,
            clock=stage.clock,
        )

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
) -> AsyncIterator[Node]:
    """A node whose repairer runs; unless `complete`, on a journal that may lack something."""
    async with stage_in(directory, boot_id=boot_id, driver=driver) as stage:
        if complete:
            await stage.journal.mark_complete()
        node = Node(stage, limit_s)
        async with asyncio.TaskGroup() as group, node.attaching:
            repairing = group.create_task(node.repairer.run())
            yield node
            repairing.cancel()
