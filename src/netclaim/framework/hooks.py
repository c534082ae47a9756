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
from functools import partial
from typing import Final

import structlog

from netclaim.errors import NetclaimError, PeerError, reason_of
from netclaim.framework.adopt import Adopter
from netclaim.framework.attach import Attacher, NoNamespaceError
from netclaim.framework.attaching import Attaching, Attempt
from netclaim.framework.clock import Clock
from netclaim.framework.fairness import HookTime
from netclaim.framework.hold import Hold
from netclaim.framework.metrics import Metrics
from netclaim.framework.repair import Repairer
from netclaim.framework.subject import claims_fields, pod_fields
from netclaim.model.pod import PodSandbox
from netclaim.nri import Container, ContainerHook, RuntimeInfo

__all__ = ["RuntimeHooks", "SandboxLostError"]

log = structlog.get_logger()

# How long a hook waits for an attach, of the usual 1.8 s. By exec a chain takes about 25 ms, in
# process 3 ms: what takes longer than this has a reason to, and the node's other pods go first.
WAIT_S: Final = 1.0
# Where a namespace used up its share of the hooks, or the pod has been waited for before.
SHORT_S: Final = 0.25
TIMEOUT_MIN_S: Final = 1.0  # below, a chain of executed plugins on a busy node may not fit


class SandboxLostError(PeerError):
    """A sandbox has no network namespace any more; kubelet makes a new one."""

    def __init__(self) -> None:
        super().__init__(
            "the sandbox has lost its network namespace, which can happen when the container "
            "runtime restarts; it is being replaced"
        )


class RuntimeHooks:
    """What the NRI plugin calls."""

    def __init__(
        self,
        attacher: Attacher,
        adopter: Adopter,
        attaching: Attaching,
        repairer: Repairer,
        *,
        hold: Hold,
        hook_time: HookTime,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self._attacher = attacher
        self._adopter = adopter
        self._attaching = attaching
        self._repairer = repairer
        self._hold = hold
        self._hook_time = hook_time
        self._metrics = metrics
        self._clock = clock

    async def configure(self, runtime: RuntimeInfo) -> None:
        """Look at how long the runtime waits. Again: the same."""
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
        """Note what runs; the work is done later. Again: noted anew.

        A sandbox whose network is being attached by the runtime's CNI chain is not in the list yet.
        """
        self._repairer.note_running(pods)

    def note_running(self, pods: Sequence[PodSandbox]) -> None:
        """Note what runs, as it was listed before."""
        self._repairer.note_running(pods)

    async def run_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Attach, or take everything back and answer with an error. Again: nothing to do."""
        attempt = self._attaching.begin(pod, self._adopter.book, roll_back=True, hooked=True)
        try:
            if not await self._attached(attempt, deadline_s):
                log.info("attach.goes_on", **self._names(pod))
        except Exception as error:
            log.warning("attach.refused", **self._names(pod), error=str(error))
            self._metrics.note_refusal("sandbox", reason_of(error))
            raise

    async def create_container(
        self,
        pod: PodSandbox,
        container: Container,
        *,
        deadline_s: float,
    ) -> ContainerHook | None:
        """Hold or refuse a container while its pod lacks an interface. Again: the same."""
        adopt = partial(self._adopter.take_over, hooked=True)
        attempt = self._attaching.begin(pod, adopt, roll_back=False, hooked=True)
        try:
            if await self._attached(attempt, deadline_s):
                return None
        except NoNamespaceError as error:
            if await self._repairer.is_on_host(pod):
                self._metrics.note_refusal("container", error.why)
                raise
            self._repairer.note_lost(pod)
            self._metrics.note_refusal("container", "peer")
            raise SandboxLostError from error
        except Exception as error:
            log.warning(
                "attach.container_refused",
                **self._names(pod),
                container=container.name,
                error=str(error),
            )
            self._metrics.note_refusal("container", reason_of(error))
            raise
        return self._hold.hook(pod)

    async def stop_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Detach while the namespace is still there. Again: nothing to do."""
        await self.end(pod, deadline_s)

    async def remove_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Detach what Stop did not. Again: nothing to do."""
        await self.end(pod, deadline_s)

    async def end(self, pod: PodSandbox, deadline_s: float) -> None:
        """Undo as much as time allows; the rest goes on in the background. Again: nothing."""
        self._repairer.forget(pod.id)
        if self._repairer.is_at(pod.id) or not self._hook_time.may_wait(pod.namespace):
            # A link that was moved into the pod is lost with the namespace, so try all the same.
            deadline_s = min(deadline_s, asyncio.get_running_loop().time() + SHORT_S)
        started_s = self._clock.monotonic()
        try:
            async with asyncio.timeout_at(deadline_s):
                await self._attaching.cancel(pod.id)
                await self._attacher.release_sandbox(pod)
        except (NetclaimError, TimeoutError) as error:
            log.warning("detach.postponed", **self._names(pod), error=str(error))
            self._repairer.note_gone(pod)
            self._hook_time.draw(pod.namespace, self._clock.monotonic() - started_s)
        except BaseException:  # the runtime hung up
            self._repairer.note_gone(pod)
            raise
        self._repairer.note_ended()

    def _names(self, pod: PodSandbox) -> Mapping[str, str | list[str]]:
        return {**pod_fields(pod), **claims_fields(self._attacher.claims_of(pod))}

    async def _attached(self, attempt: Attempt, deadline_s: float) -> bool:
        """Wait for an attach as long as the node's other pods can; whether it is done."""
        now_s = asyncio.get_running_loop().time()
        again = attempt.held_s > 0 or not self._hook_time.may_wait(attempt.pod.namespace)
        by_s = min(deadline_s, now_s + (SHORT_S if again else WAIT_S))
        return await self._attaching.hold(attempt, by_s)
