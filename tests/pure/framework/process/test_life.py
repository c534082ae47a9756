"""Whatever happens in whatever order, nothing is attached twice, and nothing is forgotten.

A machine that remembers what was really done to it, beside a framework whose process dies at any
call of the driver, reboots, and meets faults before and after the deed.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from netclaim.errors import NetclaimError, PeerError
from netclaim.model import Attachment, AttachmentKey, Claim, Plan, PodSandbox, Prepared
from tests.support.framework.parts import (
    ScriptedDriver,
    Stage,
    attachment_of,
    claim_of,
    device_of,
    plan_of,
    pod_of,
    stage_in,
)


class Crash(BaseException):
    """The process dies."""


class Machine(ScriptedDriver):
    """A driver and the node that it works on; outlives the framework's process.

    `fate` is what befalls the next call that changes the node: a fault or a crash, before or after
    the deed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attached: set[AttachmentKey] = set()
        self.prepared: set[str] = set()
        self.fate = ""
        self.crashed = False  # in this call, perhaps in a task of its own

    async def prepare(self, claim: Claim) -> Prepared:
        """May be repeated."""
        self._meet_fate("before")
        self.prepared.add(claim.uid)
        self._meet_fate("after")
        return Prepared(claim.ref, tuple(plan_of(claim, device) for device in claim.devices))

    async def unprepare(self, prepared: Prepared) -> None:
        """May be repeated; nothing may be attached any more."""
        uid = prepared.claim.uid
        assert not [key for key in self.attached if key[0] == uid], "released while in a pod"
        self._meet_fate("before")
        self.prepared.discard(uid)
        self._meet_fate("after")

    async def attach(self, plan: Plan, pod: PodSandbox) -> Attachment:
        """Must not be repeated."""
        key = (plan.claim.uid, pod.id, plan.device.key)
        assert key not in self.attached, "attached twice"
        assert plan.claim.uid in self.prepared, "attached without being prepared"
        self._meet_fate("before")
        self.attached.add(key)
        self._meet_fate("after")
        return attachment_of(plan, pod)

    async def detach(self, attachment: Attachment) -> None:
        """May be repeated."""
        self._meet_fate("before")
        self.attached.discard(attachment.key)
        self._meet_fate("after")

    def _meet_fate(self, moment: str) -> None:
        if self.fate.endswith(moment):
            fate, self.fate = self.fate, ""
            self.crashed = fate.startswith("crash")
            raise Crash if self.crashed else PeerError(fate)


CLAIMS = {
    "red": claim_of("red", device_of("eth1"), device_of("eth2"), pods=("pod-1",)),
    "shared": claim_of("shared", device_of("eth3"), pods=("pod-1", "pod-2")),
    "rival": claim_of("rival", device_of("eth3"), pods=("pod-3",)),
}
FATES = st.sampled_from(["", "", "fault before", "fault after", "crash before", "crash after"])
PODS = st.sampled_from(["pod-1", "pod-2", "pod-3"])
SANDBOXES = st.sampled_from(["a", "b"])


class Life(RuleBasedStateMachine):
    """Claims and pods come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.directory = TemporaryDirectory()
        self.machine = Machine()
        self.boot = 1
        self.ended: set[str] = set()  # namespaces
        self.start()

    def start(self) -> None:
        """A process of the driver begins."""
        self.context: AbstractAsyncContextManager[Stage] = stage_in(
            Path(self.directory.name),
            *CLAIMS.values(),
            boot_id=f"boot-{self.boot}",
            driver=self.machine,
        )
        self.stage = self.run_in_loop(self.context.__aenter__())
        self.stage.gone = self.ended

    def stop(self) -> None:
        """It ends, perhaps with tasks that crashed."""
        try:
            self.run_in_loop(self.context.__aexit__(None, None, None))
        except BaseExceptionGroup as error:
            _only_crashes(error)

    def run_in_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run one call."""
        return self.loop.run_until_complete(work)

    def attempt(self, work: Coroutine[Any, Any, Any], fate: str) -> bool:
        """Make a call that may meet its fate; whether it succeeded."""
        self.machine.fate, self.machine.crashed = fate, False
        try:
            self.run_in_loop(work)
        except NetclaimError:
            return False
        except (Crash, BaseExceptionGroup) as error:
            _only_crashes(error)
            return False
        finally:
            self.machine.fate = ""
            if self.machine.crashed:
                self.stop()
                self.start()
        return True

    @rule(name=st.sampled_from(sorted(CLAIMS)), fate=FATES)
    def prepare(self, name: str, fate: str) -> None:
        """Kubelet prepares a claim."""
        if self.attempt(self.stage.preparer.prepare(CLAIMS[name].ref), fate):
            assert CLAIMS[name].uid in self.machine.prepared

    @rule(name=st.sampled_from(sorted(CLAIMS)), fate=FATES)
    def unprepare(self, name: str, fate: str) -> None:
        """Kubelet releases a claim; pods that run with it keep what they have."""
        uid = CLAIMS[name].uid
        used = self.used(uid)
        if self.attempt(self.stage.preparer.unprepare(CLAIMS[name].ref), fate):
            assert used <= self.machine.attached
            if not self.begun(uid):
                assert uid not in self.machine.prepared

    def begun(self, claim_uid: str) -> list[AttachmentKey]:
        """What was begun for a claim, and not undone, in sandboxes that have not ended."""
        leases = self.stage.journal.leases
        return [k for k in leases if k[0] == claim_uid and f"/run/netns/{k[1]}" not in self.ended]

    def used(self, claim_uid: str) -> set[AttachmentKey]:
        """What pods that have not ended have of a claim."""
        done = {key for key, le in self.stage.journal.leases.items() if le.state == "attached"}
        running = {key for key in done if f"/run/netns/{key[1]}" not in self.ended}
        return {key for key in running & self.machine.attached if key[0] == claim_uid}

    @rule(uid=PODS, sandbox=SANDBOXES, fate=FATES)
    def attach(self, uid: str, sandbox: str, fate: str) -> None:
        """The runtime makes a sandbox."""
        pod = pod_of(uid, f"{uid}-{sandbox}")
        self.ended.discard(f"/run/netns/{pod.id}")
        if self.attempt(self.stage.attach(pod), fate):
            for booking in self.stage.journal.bookings.values():
                if uid in booking.pods:
                    for device in booking.devices:
                        assert (booking.claim.uid, pod.id, device.key) in self.machine.attached

    @rule(uid=PODS, sandbox=SANDBOXES, fate=FATES)
    def release(self, uid: str, sandbox: str, fate: str) -> None:
        """The runtime stops a sandbox."""
        sandbox_id = f"{uid}-{sandbox}"
        if self.attempt(self.stage.release(pod_of(uid, sandbox_id)), fate):
            assert not [key for key in self.machine.attached if key[1] == sandbox_id]

    @rule(uid=PODS, sandbox=SANDBOXES)
    def end(self, uid: str, sandbox: str) -> None:
        """A sandbox ends without our being told."""
        self.stage.end(pod_of(uid, f"{uid}-{sandbox}"))

    @rule(fate=FATES)
    def sweep(self, fate: str) -> None:
        """What was cut short is undone."""
        if self.attempt(self.stage.sweep(), fate):
            assert all(le.state == "attached" for le in self.stage.journal.leases.values())

    @rule()
    def reboot(self) -> None:
        """What was prepared goes with the boot; what was taken for pods, as addresses, stays."""
        self.stop()
        self.boot += 1
        self.machine.prepared.clear()
        self.start()

    @invariant()
    def nothing_is_forgotten(self) -> None:
        """Whatever was done to the machine is in the journal, to be undone."""
        assert self.machine.attached <= self.stage.journal.leases.keys()
        assert self.machine.prepared <= self.stage.journal.bookings.keys()

    @invariant()
    def exclusive(self) -> None:
        """A device that excludes others is held by one claim."""
        held = [d.key for b in self.stage.journal.bookings.values() for d in b.devices]
        assert len(held) == len(set(held))

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.stop()
        self.loop.close()
        self.directory.cleanup()


def _only_crashes(error: BaseException) -> None:
    """Anything but a crash in there is a failure of the test."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            _only_crashes(inner)
    elif not isinstance(error, Crash):
        raise error


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # shrinking a history takes longer than reading it
)
