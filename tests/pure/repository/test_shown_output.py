"""Outputs in the documentation are compared by what is the same in every run."""

import pytest

from scripts.shown_output import unvarying

SHOWN = "streams-1 Ready net1 10.10.1.3/24,fd00:10:1::3/64\nstreams-2 Ready net1 10.10.1.4/24\n"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (SHOWN, True),
        (SHOWN.replace("1.3/", "1.9/").replace("1.4/", "1.3/").replace("1.9/", "1.4/"), True),
        (SHOWN.replace("1.4/", "1.5/"), False),
        (SHOWN.replace("::3/", "::4/"), False),
        (SHOWN.replace("net1", "net2"), False),
        (SHOWN.replace("/24\n", "/25\n"), False),
    ],
)  # fmt: skip
def test_addresses_count_in_any_order(text: str, same: bool) -> None:
    """Pods that start together may swap their addresses; another address is a difference."""
    assert (unvarying(text) == unvarying(SHOWN)) is same


def test_times_do_not_count() -> None:
    """A time, a hardware address and the end of a generated name are no difference."""
    assert unvarying("web-7x9bc ready after 1.2 s, 02:00:0a:0b:0c:01") == unvarying(
        "web-b4kzt ready after 13 s, 02:00:0a:0b:0c:ff"
    )
