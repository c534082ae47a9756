"""The runtime's hooks: when a pod's devices are attached and detached, and by which deadline.

Promise: a pod does not run without its interfaces. The runtime takes silence for consent, so the
answer is an error before its deadline rather than nothing; a sandbox that slipped through while the
driver was away is completed after the next Synchronize, and until then its containers are refused.
A pod on the host's network has no namespace of its own, and is refused if it claims an interface.
All pods of the node wait while a hook runs: one that failed lately at their cost is refused at once
for a while, and what can be undone later does not hold up anybody where that has happened often.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import structlog

from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.adopt import Adopter
from netclaim.framework.attach import Attacher
from netclaim.framework.clock import Clock
from netclaim.framework.fairness import HookTime, NotYetError
from netclaim.framework.repair import Repairer
from netclaim.model.pod import PodSandbox
from netclaim.nri import Container, RuntimeInfo

__all__ = ["AttachTimeoutError", "RuntimeHooks"]

log = structlog.get_logger()

# Of a hook's time, what is kept to take back a failed attach: 0.36 s of the usual 1.8 s. A detach
# by exec takes about 25 ms a device; what does not fit goes on in the background.
ROLLBACK_SHARE: Final = 0.2
# For undoing what a namespace has that used up its share of the hooks: ten times what it takes.
SHORT_S: Final = 0.25
TIMEOUT_MIN_S: Final = 1.0  # below, a chain of executed plugins on a busy node may not fit


class AttachTimeoutError(PeerError):
    """A pod's devices were not attached in the runtime's time; kubelet makes a new sandbox."""


class RuntimeHooks:
    """What the NRI plugin calls."""

    def __init__(
        self,
        attacher: Attacher,
        adopter: Adopter,
        repairer: Repairer,
        *,
        hook_time: HookTime,
        clock: Clock,
    ) -> None:
        self._attacher = attacher
        self._adopter = adopter
        self._repairer = repairer
        self._hook_time = hook_time
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
        """Note what runs; the work is done later. Again: noted anew."""
        self._repairer.note_running(pods)

    async def run_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Attach, or take everything back and answer with an error. Again: nothing to do."""
        left_s = deadline_s - asyncio.get_running_loop().time()
        with self._accounted(pod):
            try:
                await self._attach(pod, self._adopter.book, deadline_s - left_s * ROLLBACK_SHARE)
            except Exception as error:
                await self._release(pod, deadline_s)
                log.warning(
                    "attach.refused", pod=pod.name, namespace=pod.namespace, error=str(error)
                )
                raise

    async def create_container(
        self,
        pod: PodSandbox,
        container: Container,
        *,
        deadline_s: float,
    ) -> None:
        """Refuse a container while its pod lacks an interface. Again: the same."""
        with self._accounted(pod):
            try:
                await self._attach(pod, partial(self._adopter.take_over, hooked=True), deadline_s)
            except Exception as error:
                log.warning(
                    "attach.container_refused",
                    pod=pod.name,
                    namespace=pod.namespace,
                    container=container.name,
                    error=str(error),
                )
                raise

    async def stop_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Detach while the namespace is still there. Again: nothing to do."""
        await self._end(pod, deadline_s)

    async def remove_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Detach what Stop did not. Again: nothing to do."""
        await self._end(pod, deadline_s)

    @contextmanager
    def _accounted(self, pod: PodSandbox) -> Iterator[None]:
        """Have the claims say why the block failed, and account for the time that it took.

        What was refused at once took none. Being cancelled, as the runtime hung up, is a failure.
        """
        started_s = self._clock.monotonic()
        try:
            yield
        except BaseException as error:
            unplanned = self._adopter.pop_failed(pod.id)
            unattached = self._attacher.tell_failure(pod.id)
            blamed = unplanned if unattached is None else unattached
            if not isinstance(error, NotYetError):
                took_s = self._clock.monotonic() - started_s
                text = str(error) or "cut off before the runtime's deadline"
                self._hook_time.note_failure(pod, blamed, took_s, text)
            raise

    async def _attach(
        self, pod: PodSandbox, adopt: Callable[[PodSandbox], Awaitable[object]], deadline_s: float
    ) -> None:
        self._hook_time.check_pod(pod)
        try:
            async with asyncio.timeout_at(deadline_s):
                await adopt(pod)
                await self._attacher.attach(pod, hooked=True)
        except TimeoutError as error:
            self._repairer.wake()
            raise AttachTimeoutError(
                "interfaces were not attached in the runtime's time"
            ) from error
        except BaseException:  # cancelled too: the runtime hung up, and the pod may go on
            self._repairer.wake()
            raise

    async def _end(self, pod: PodSandbox, deadline_s: float) -> None:
        self._repairer.forget(pod.id)
        if self._repairer.is_at(pod.id) or not self._hook_time.may_wait(pod.namespace):
            # A link that was moved into the pod is lost with the namespace, so try all the same.
            deadline_s = min(deadline_s, asyncio.get_running_loop().time() + SHORT_S)
        started_s = self._clock.monotonic()
        if not await self._release(pod, deadline_s):
            self._hook_time.draw(pod.namespace, self._clock.monotonic() - started_s)

    async def _release(self, pod: PodSandbox, deadline_s: float) -> bool:
        """Undo as much as time allows; the rest goes on in the background. Whether all is done."""
        done = False
        try:
            async with asyncio.timeout_at(deadline_s):
                await self._attacher.release_sandbox(pod.id)
            done = True
        except (NetclaimError, TimeoutError) as error:
            log.warning("detach.postponed", sandbox=pod.id, error=str(error))
            self._repairer.note_gone(pod)
        except BaseException:  # the runtime hung up
            self._repairer.note_gone(pod)
            raise
        self._repairer.note_ended()
        return done
