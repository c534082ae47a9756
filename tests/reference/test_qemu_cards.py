"""Cards with virtual functions, in a guest whose emulator has some, by the kernel's own drivers."""

import json
import sys
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.guest.machine import GuestMachine, fetch_machine
from lab.guest.qemu import booted
from lab.progress import Progress
from tests.conftest import cannot_run
from tests.reference.site.card_cases import MODULES

pytestmark = [
    pytest.mark.reference,
    pytest.mark.timeout(1800),  # half a minute of emulation, far more on a busy machine
]

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def machine() -> GuestMachine:
    """An emulator with cards, and a kernel with their drivers."""
    try:
        return fetch_machine(MODULES, Progress())
    except LabError as error:
        cannot_run(f"no guest with cards: {error}")
        raise


def test_cards_and_functions_are_told_apart(machine: GuestMachine, tmp_path: Path) -> None:
    """With their roots, their NUMA nodes and their kernel drivers."""
    command = [sys.executable, "-m", "tests.reference.site.card_guest"]
    kernel, hardware = machine.kernel, machine.hardware
    with booted(kernel, command, directory=CHECKOUT, scratch=tmp_path, hardware=hardware) as guest:
        lines = list(guest.lines)
    assert lines, guest.last_words()
    assert json.loads(lines[0])["differences"] == []
