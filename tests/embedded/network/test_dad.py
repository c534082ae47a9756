"""Duplicate address detection is off while interfaces are made, and as before afterwards."""

import subprocess
from collections.abc import Iterator

import pytest

from netclaim.kernel import Netns, call_in, open_netns
from netclaim.network.attach.dad import CONF, DadHold

NAME = "nct-dad"


@pytest.fixture
def netns() -> Iterator[Netns]:
    """A namespace of the test's own."""
    subprocess.run(["ip", "netns", "add", NAME], check=True)
    try:
        with open_netns(f"/run/netns/{NAME}") as opened:
            yield opened
    finally:
        subprocess.run(["ip", "netns", "delete", NAME], check=True)


def accept_dad(netns: Netns, interface: str) -> str:
    """The setting, as the kernel has it."""
    return call_in(netns, lambda: (CONF / interface / "accept_dad").read_text().strip())


def make_link(name: str) -> None:
    """A link in the namespace, as a plugin would make it."""
    subprocess.run(["ip", "-n", NAME, "link", "add", name, "type", "bridge"], check=True)


def test_two_interfaces_at_once(netns: Netns) -> None:
    """Both are made without the check, have it afterwards, and so do later ones."""
    hold = DadHold()
    with hold.during(netns, "one"):
        make_link("one")
        assert accept_dad(netns, "one") == "0"
        with hold.during(netns, "two"):
            make_link("two")
            assert accept_dad(netns, "two") == "0"
        assert accept_dad(netns, "two") == "1"
        assert accept_dad(netns, "default") == "0"
    make_link("later")
    assert [accept_dad(netns, name) for name in ("default", "one", "later")] == ["1", "1", "1"]


def test_interface_that_was_not_made(netns: Netns) -> None:
    """A failed plugin leaves the namespace's own setting as it was."""
    with pytest.raises(RuntimeError), DadHold().during(netns, "never"):
        raise RuntimeError
    assert accept_dad(netns, "default") == "1"
