"""The runtime's NRI hooks: when a pod's devices are attached and detached, and by which deadline.

Promise: a pod does not run without its interfaces. The runtime takes silence for consent, so there
is an answer before its deadline: an error, or while the attach goes on, that the sandbox may be
made; then its containers are held by a hook of their own until the pod has everything. A sandbox
that slipped through while the driver was away is completed after the next Synchronize, and until
then its containers are refused. One that lost its namespace is replaced. A pod on the host's
network has no namespace of its own, and is refused if it claims an interface.
All pods of the node wait while a hook runs: one that failed lately at their cost is refused at once
for a while, and what can be done later does not hold up anybody where that has happened often.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from netclaim.errors import reason_of
from netclaim.framework.attach.errors import NoNamespaceError, SandboxLostError
from netclaim.framework.attach.hold_hook import Hold
from netclaim.framework.attach.hook_budget import HookTime
from netclaim.framework.attach.reconcile import SHORT_S, Reconciler
from netclaim.framework.attach.repair import Repairer
from netclaim.framework.attach.sandbox import Request, Sandboxes
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.telemetry.subject import claims_fields, pod_fields
from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri import Container, ContainerHook, RuntimeInfo

log = structlog.get_logger()

# How long a hook waits for an attach, of the usual 1.8 s. By exec a chain takes about 25 ms, in
# process 3 ms: what takes longer than this has a reason to, and the node's other pods go first.
WAIT_S: Final = 1.0
TIMEOUT_MIN_S: Final = 1.0  # below, a chain of executed plugins on a busy node may not fit


@dataclass(slots=True)
class RuntimeHooks:
    """What the NRI plugin calls."""

    sandboxes: Sandboxes
    reconciler: Reconciler
    repairer: Repairer
    hold: Hold
    hook_time: HookTime
    metrics: Metrics

    async def configure(self, runtime: RuntimeInfo) -> None:
        """Look at how long the runtime waits."""
        if runtime.request_timeout_s < TIMEOUT_MIN_S:
            log.warning(
                "attach.timeout_small",
                request_timeout_s=runtime.request_timeout_s,
                hint="raise plugin_request_timeout in the runtime's NRI configuration",
            )

    async def synchronize(
        self,
        pods: Sequence[PodSandbox],
        containers: Sequence[Container],  # noqa: ARG002 (sandboxes say enough)
        *,
        deadline_s: float,  # noqa: ARG002 (answered at once: the whole node waits)
    ) -> None:
        """Note what runs; the work is done later.

        A sandbox whose network is being attached by the runtime's CNI chain is not in the list yet.
        """
        self.sandboxes.note_running(pods)

    def note_running(self, pods: Sequence[PodSandbox]) -> None:
        """Note what runs, as it was listed before."""
        self.sandboxes.note_running(pods)

    async def run_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Attach, or take everything back and answer with an error."""
        request = self.reconciler.request(pod, "hook", new=True)
        try:
            if not await self._is_attached(pod, request, deadline_s):
                log.info("attach.goes_on", **self._names(pod))
        except Exception as error:
            log.warning("attach.refused", **self._names(pod), error=str(error))
            self.metrics.note_refusal("sandbox", reason_of(error))
            raise

    async def create_container(
        self,
        pod: PodSandbox,
        container: Container,
        *,
        deadline_s: float,
    ) -> ContainerHook | None:
        """Hold or refuse a container while its pod lacks an interface."""
        request = self.reconciler.request(pod, "hook")
        try:
            if await self._is_attached(pod, request, deadline_s):
                return None
        except NoNamespaceError as error:
            if await self.repairer.is_on_host(pod):
                self.metrics.note_refusal("container", error.why)
                raise
            self.sandboxes.note_lost(pod)
            self.metrics.note_refusal("container", "peer")
            raise SandboxLostError from error
        except Exception as error:
            log.warning(
                "attach.container_refused",
                **self._names(pod),
                container=container.name,
                error=str(error),
            )
            self.metrics.note_refusal("container", reason_of(error))
            raise
        return self.hold.hook(pod)

    async def stop_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Detach while the namespace is still there."""
        await self.reconciler.end(pod, deadline_s)

    async def remove_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Detach what Stop did not."""
        await self.reconciler.end(pod, deadline_s)

    def _names(self, pod: PodSandbox) -> Mapping[str, str | list[str]]:
        return {**pod_fields(pod), **claims_fields(self.sandboxes.claims_of(pod))}

    async def _is_attached(self, pod: PodSandbox, request: Request, deadline_s: float) -> bool:
        """Wait as long as the node's other pods can; whether the pod has everything by then."""
        now_s = asyncio.get_running_loop().time()
        # Less where the pod has been waited for, or its namespace used up its share of the hooks.
        short = request.held_s > 0 or not self.hook_time.may_wait(pod.namespace)
        return await request.hold(min(deadline_s, now_s + (SHORT_S if short else WAIT_S)))
