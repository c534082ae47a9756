"""Cards with virtual functions, in a guest whose emulator has some, by the kernel's own drivers."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.guest.machine import GuestMachine, fetch_machine
from lab.guest.qemu import booted
from lab.progress import Progress
from tests.conftest import cannot_run
from tests.reference.site.card_cases import DESCRIBED, MODULES
from tests.reference.site.flag_cases import SWITCHED
from tests.reference.site.node_cases import AS_NODE
from tests.reference.site.rdma_cases import WITH_RDMA
from tests.reference.site.vf_cases import BEFORE_FUNCTIONS, WITH_FUNCTIONS
from tests.reference.site.vf_number_cases import MADE, NUMBERS
from tests.reference.site.vfio_cases import WITH_PROGRAMS

pytestmark = [
    pytest.mark.reference,
    pytest.mark.timeout(1800),  # half a minute of emulation, far more on a busy machine
]

CHECKOUT = Path(__file__).parents[2]
CASES = (
    *(*BEFORE_FUNCTIONS, *SWITCHED, MADE, DESCRIBED, *WITH_FUNCTIONS, *WITH_PROGRAMS),
    *(*WITH_RDMA, *NUMBERS, *AS_NODE),
)


@dataclass(frozen=True, slots=True)
class Report:
    """What a guest found, by case, and what it complained of."""

    differences: dict[str, list[str]]
    last_words: str


@pytest.fixture(scope="session")
def machine() -> GuestMachine:
    """An emulator with cards, and a kernel with their drivers."""
    try:
        return fetch_machine(MODULES, Progress())
    except LabError as error:
        cannot_run(f"no guest with cards: {error}")
        raise


@pytest.fixture(scope="session")
def report(machine: GuestMachine, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The findings of one guest that did every case."""
    command = [sys.executable, "-m", "tests.reference.site.card_guest"]
    kernel, hardware = machine.kernel, machine.hardware
    scratch = tmp_path_factory.mktemp("guest")
    with booted(kernel, command, directory=CHECKOUT, scratch=scratch, hardware=hardware) as guest:
        found = [json.loads(line) for line in guest.lines]
    differences = {each["case"]: each["differences"] for each in found}
    return Report(differences, guest.last_words())


@pytest.mark.parametrize("case", CASES)
def test_cards_and_functions(case: str, report: Report) -> None:
    """Each is told apart, lent to a pod and back as it was, whatever happens meanwhile."""
    assert case in report.differences, report.last_words
    assert report.differences[case] == []
