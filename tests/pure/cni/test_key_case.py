"""Keys are the same where Go's encoding/json says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.cni.key_case import fold, same_keys


@pytest.mark.parametrize("spelling", ["dataDir", "datadir", "DATADIR", "DaTaDiR"])
def test_case_does_not_count(spelling: str) -> None:
    """Every spelling of a key in ASCII folds to its lower case."""
    assert fold(spelling) == "datadir"


@pytest.mark.parametrize(
    ("spelling", "key"),
    [
        ("ma\u017fter", "master"),
        ("\u017fubnet", "subnet"),
        ("re\u017folvConf", "resolvconf"),
        ("lin\u212aInContainer", "linkincontainer"),
        ("\u017fYSCTL", "sysctl"),
    ],
)
def test_two_letters_outside_ascii_fold_into_it(spelling: str, key: str) -> None:
    """The long s and the Kelvin sign are s and k to every plugin that is written in Go."""
    assert fold(spelling) == key


@pytest.mark.parametrize(
    "other", ["\u0130pam", "\u0131pam", "\uff49pam", "\u0456pam", "ipam\u0301"]
)
def test_letters_that_only_look_alike_are_others(other: str) -> None:
    """A dotless, dotted, wide or Cyrillic i is not an i, nor does an accent vanish."""
    assert fold(other) != "ipam"


def test_only_two_letters_outside_ascii_fold_into_it() -> None:
    """Of all of Unicode nothing else can stand for an ASCII letter."""
    into_ascii = {chr(n) for n in range(0x80, 0x110000) if fold(chr(n)).isascii()}
    assert into_ascii == {"\u017f", "\u212a"}


@pytest.mark.parametrize(
    ("one", "other"),
    [("\u00b5", "\u03bc"), ("\u00df", "\u1e9e"), ("\u03c3", "\u03c2"), ("\u1f80", "\u1f88")],
)
def test_folding_is_unicodes_simple_one(one: str, other: str) -> None:
    """Letters fold one to one; an eszett is its capital form, and not two letters s."""
    assert fold(one) == fold(other)
    assert len(fold(one)) == 1


@given(st.text(), st.text())
def test_folding_is_letter_by_letter_and_final(one: str, other: str) -> None:
    """What is folded stays as it is, and no letter changes how its neighbour folds."""
    assert fold(fold(one)) == fold(one)
    assert fold(one + other) == fold(one) + fold(other)


def test_two_spellings_of_a_key_are_found() -> None:
    """The first two are named, as they are written."""
    assert same_keys(["type", "dataDir", "name", "DATADIR"]) == ("dataDir", "DATADIR")
    assert same_keys({"master": 1, "ma\u017fter": 2}) == ("master", "ma\u017fter")
    assert same_keys(["type", "dataDir", "name"]) is None
