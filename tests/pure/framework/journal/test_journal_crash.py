"""The journal beside a model of it, across restarts, and in a process that is killed."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from netclaim.framework.journal.journal import Journal, open_journal
from netclaim.framework.journal.records import Booking, Lease, Report
from tests.support.framework.parts import booking_of, claim_of, lease_of, report_of

NAMES = st.sampled_from(["red", "green", "blue"])
SANDBOXES = st.sampled_from(["s1", "s2"])
STATES = st.sampled_from(["attaching", "attached", "detaching"])


class JournalMachine(RuleBasedStateMachine):
    """The journal beside three dictionaries, across any number of restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.directory = TemporaryDirectory()
        self.boot = 1
        self.bookings: dict[str, Booking] = {}
        self.leases: dict[Any, Lease] = {}
        self.reports: dict[str, Report] = {}
        self.open()

    def run_in_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run one call."""
        return self.loop.run_until_complete(work)

    def open(self) -> None:
        """Open the journal as a new process does."""
        path = Path(self.directory.name) / "journal.db"
        self.context = open_journal(path, f"boot-{self.boot}")
        self.journal: Journal = self.run_in_loop(self.context.__aenter__())

    @rule(name=NAMES, prepared=st.booleans())
    def put_booking(self, name: str, prepared: bool) -> None:
        """A claim is booked, or booked again."""
        booking = booking_of(claim_of(name), prepared=prepared)
        self.run_in_loop(self.journal.put_booking(booking))
        self.bookings[booking.claim.uid] = booking

    @rule(name=NAMES)
    def drop_booking(self, name: str) -> None:
        """A claim is forgotten, with its report."""
        self.run_in_loop(self.journal.drop_booking(f"uid-{name}"))
        self.bookings.pop(f"uid-{name}", None)
        self.reports.pop(f"uid-{name}", None)

    @rule(rows=st.lists(st.tuples(NAMES, SANDBOXES, STATES), max_size=3))
    def put_leases(self, rows: list[tuple[str, str, str]]) -> None:
        """Leases are written together."""
        leases = [lease_of(*row) for row in rows]
        self.run_in_loop(self.journal.put_leases(leases))
        self.leases |= {lease.attachment.key: lease for lease in leases}

    @rule(name=NAMES, sandbox=SANDBOXES)
    def drop_lease(self, name: str, sandbox: str) -> None:
        """A lease is forgotten."""
        key = lease_of(name, sandbox).attachment.key
        self.run_in_loop(self.journal.drop_lease(key))
        self.leases.pop(key, None)

    @rule(name=NAMES, message=st.text(max_size=5))
    def put_report(self, name: str, message: str) -> None:
        """A report is written, if its claim is booked."""
        report = report_of(booking_of(claim_of(name)), message)
        self.run_in_loop(self.journal.put_report(report))
        if report.claim.uid in self.bookings:
            self.reports[report.claim.uid] = report

    @rule(name=NAMES)
    def carry_report(self, name: str) -> None:
        """A claim's status was written, if it is still booked."""
        report = report_of(booking_of(claim_of(name)))
        self.journal.carry_report(report)
        if report.claim.uid in self.bookings:
            self.reports[report.claim.uid] = report

    @rule(reboot=st.booleans())
    def restart(self, reboot: bool) -> None:
        """The process ends and another one opens the journal, perhaps after a reboot."""
        self.run_in_loop(self.context.__aexit__(None, None, None))
        self.boot += reboot
        self.open()
        if reboot:
            self.bookings = {
                uid: booking.inherited(rebooted=True) for uid, booking in self.bookings.items()
            }
        for key, lease in self.leases.items():
            if reboot:
                pod = msgspec.structs.replace(lease.attachment.pod, netns=None)
                attachment = msgspec.structs.replace(lease.attachment, pod=pod)
                self.leases[key] = Lease(attachment, "detaching")
            elif lease.state == "attaching":
                self.leases[key] = Lease(lease.attachment, "detaching")

    @invariant()
    def agrees(self) -> None:
        """Journal and model say the same."""
        assert self.journal.bookings == self.bookings
        assert self.journal.leases == self.leases
        assert self.journal.reports == self.reports

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.run_in_loop(self.context.__aexit__(None, None, None))
        self.loop.close()
        self.directory.cleanup()


TestJournalMachine = JournalMachine.TestCase
TestJournalMachine.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # shrinking a history takes longer than reading it
)

CHILD = """
    import asyncio, sys
    from pathlib import Path
    from netclaim.framework.journal.journal import open_journal
    from tests.support.framework.parts import booking_of, claim_of, lease_of, report_of

    async def main():
        async with open_journal(Path(sys.argv[1]), "boot-1") as journal:
            for number in range(100000):
                name = f"c{number}"
                booking = booking_of(claim_of(name))
                lease = lease_of(name, "s1")
                for state, write in (
                    ("booked", journal.put_booking(booking_of(claim_of(name), prepared=False))),
                    ("ready", journal.put_booking(booking)),
                    ("attaching", journal.put_leases([lease_of(name, "s1", "attaching")])),
                    ("attached", journal.put_leases([lease])),
                    ("reported", journal.put_report(report_of(booking))),
                    ("detaching", journal.put_leases([lease.undone()])),
                    ("detached", journal.drop_lease(lease.attachment.key)),
                    ("lapsed", journal.put_booking(booking.lapsed())),
                    ("released", journal.drop_booking(booking.claim.uid)),
                ):
                    await write
                    print(number, state, flush=True)

    asyncio.run(main())
"""


@pytest.mark.parametrize("seed", range(4))
def test_sigkill_loses_nothing_answered(tmp_path: Path, seed: int) -> None:
    """Every write that returned before SIGKILL is there afterwards, whenever the signal came.

    Also those for which nobody waits for the disk.
    """
    path = tmp_path / "journal.db"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    ) as child:
        assert child.stdout is not None
        answered = [child.stdout.readline() for _ in range(random.Random(seed).randrange(1, 40))]
        child.send_signal(signal.SIGKILL)
        answered += child.stdout.readlines()
    assert child.returncode == -signal.SIGKILL

    async def read() -> tuple[int, str]:
        async with open_journal(path, "boot-1") as journal:
            return position(journal)

    number, state = answered[-1].split()
    last = (int(number), state)
    # What was under way may be there as well.
    assert asyncio.run(read()) in {inherited(*last), inherited(*following(*last))}


STEPS = (
    "booked",
    "ready",
    "attaching",
    "attached",
    "reported",
    "detaching",
    "detached",
    "lapsed",
    "released",
)


def following(number: int, state: str) -> tuple[int, str]:
    """The step after another one."""
    at = STEPS.index(state) + 1
    return (number, STEPS[at]) if at < len(STEPS) else (number + 1, STEPS[0])


def inherited(number: int, state: str) -> tuple[int, str]:
    """What the next process makes of a step; a released claim has left nothing."""
    if state == "released":
        return (-1, "released")
    return (number, "detaching" if state == "attaching" else state)


def position(journal: Journal) -> tuple[int, str]:
    """How far the one claim in a journal is."""
    if not journal.bookings:
        assert not journal.leases
        return (-1, "released")
    ((uid, booking),) = journal.bookings.items()
    number = int(uid.removeprefix("uid-c"))
    leases = [lease.state for lease in journal.leases.values()]
    if booking.state == "ready":
        reported = uid in journal.reports
        if leases == ["attached"]:
            return (number, "reported" if reported else "attached")
        if leases == ["detaching"]:
            return (number, "detaching")
        return (number, "detached" if reported else "ready")
    assert not leases
    return (number, booking.state)
