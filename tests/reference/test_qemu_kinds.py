"""Kinds of link that this machine may lack, compared in a guest under Debian's stock kernel.

The guest is booted once; it does every case and tells what it found.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.guest.kernel import GuestKernel, fetch_kernel
from lab.guest.qemu import ROOT_MODULES, booted, find_emulator
from lab.progress import Progress
from tests.conftest import cannot_run
from tests.reference.site import limit_cases
from tests.reference.site.chain_site import ChainCase
from tests.reference.site.qemu_cases import CASES, MODULES

pytestmark = [
    pytest.mark.reference,
    # The first test waits for all of them: two minutes of emulation, more on a busy machine.
    pytest.mark.timeout(1200),
]

CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Report:
    """What a guest found, by case, and what it complained of."""

    differences: dict[str, list[str]]
    last_words: str


@pytest.fixture(scope="session")
def kernel() -> GuestKernel:
    """Debian's kernel, where there is an emulator to run it."""
    try:
        find_emulator()
        return fetch_kernel((*ROOT_MODULES, *MODULES), Progress())
    except LabError as error:
        cannot_run(f"no guest: {error}")
        raise


@pytest.fixture(scope="session")
def report(
    kernel: GuestKernel, cni_plugins: Path, tmp_path_factory: pytest.TempPathFactory
) -> Report:
    """The findings of one guest that did every case."""
    command = [sys.executable, "-m", "tests.reference.site.qemu_guest", str(cni_plugins)]
    scratch = tmp_path_factory.mktemp("guest")
    with booted(kernel, command, directory=CHECKOUT, scratch=scratch) as guest:
        found = [json.loads(line) for line in guest.lines]
    differences = {each["case"]: each["differences"] for each in found}
    return Report(differences, guest.last_words())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_links_come_and_go_alike_in_a_guest(case: ChainCase, report: Report) -> None:
    """Results, kernel state and leases are the same, in process and by the reference programs."""
    assert case.name in report.differences, report.last_words
    assert report.differences[case.name] == []


@pytest.mark.parametrize("case", limit_cases.CASES)
def test_links_are_limited_in_a_guest(case: str, report: Report) -> None:
    """Traffic flows both ways, no faster than the limit, and nothing is left of it."""
    assert case in report.differences, report.last_words
    assert report.differences[case] == []


def test_a_guest_is_gone_when_nobody_waits_for_it(kernel: GuestKernel, tmp_path: Path) -> None:
    """Leaving the block ends the machine, whatever it was doing."""
    with booted(kernel, ["sleep", "1000"], directory=CHECKOUT, scratch=tmp_path):
        while running_with(tmp_path) != 1:  # between two programs it has no command line
            pass
    assert running_with(tmp_path) == 0


def running_with(scratch: Path) -> int:
    """Count the processes that were told of a directory."""
    told = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            told += str(scratch).encode() in path.read_bytes()
        except OSError:  # it has ended since
            continue
    return told
