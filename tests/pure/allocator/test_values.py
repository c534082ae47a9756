"""Versions, quantities and regular expressions of CEL, beyond what the table shows."""

import contextlib
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.allocator.cel.values.amount import Amount
from netclaim.allocator.cel.values.regex import RegexError, compile_regex
from netclaim.allocator.cel.values.semver import Semver
from netclaim.allocator.cel.values.types import Unifier, parse_type
from netclaim.model.quantity import Quantity

PRECEDENCE = (  # the order of the semantic versioning specification
    *("1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"),
    *("1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "2.0.0"),
)


def test_versions_have_the_order_of_the_specification() -> None:
    """Pre-releases come before their release, numbers before words."""
    versions = [version for text in PRECEDENCE if (version := Semver.parse(text)) is not None]
    assert len(versions) == len(PRECEDENCE)
    assert all(earlier < later for earlier, later in itertools.pairwise(versions))


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "v1.2.3", "1.2.3 "]
)
def test_no_versions(text: str) -> None:
    """What is not exactly a semantic version is none."""
    assert Semver.parse(text) is None


@pytest.mark.parametrize(
    ("text", "strict"),
    [("v1", "1.0.0"), ("1.02", "1.2.0"), ("v00.1.0-a", "0.1.0-a"), ("1-a", None)],
)
def test_normalized_versions(text: str, strict: str | None) -> None:
    """Normalising drops a v and zeros and fills up what is missing."""
    assert str(Semver.normalize(text)) == str(strict)


@given(st.from_regex(r"[+-]?[0-9]{1,9}(\.[0-9]{0,3})?(n|u|m|k|M|G|Ki|Mi|Gi|e3)?", fullmatch=True))
def test_amounts_are_quantities(text: str) -> None:
    """An amount has the quantity's value, and an integer only where that is exact."""
    amount, quantity = Amount.parse(text), Quantity.parse(text)
    assert amount.nanos == quantity.nanos
    if amount.integer is not None:
        assert amount.integer == quantity.value


LITERALS = st.text(alphabet="ab.*+?()[]{}|^$\\-é\n", max_size=6)


@given(LITERALS, st.text(alphabet="ab.*+?()[]{}|^$\\-é\n", max_size=8))
def test_quoted_patterns_are_literal(literal: str, text: str) -> None:
    r"""A pattern in \Q...\E matches where its text is."""
    if r"\E" not in literal:
        assert bool(compile_regex(rf"\Q{literal}\E").search(text)) == (literal in text)


@given(
    st.from_regex(r"\A([ab]|\[a-c\]|\(a\|b\)|\.)([*+?]|\{1,2\})?[ab]?\Z"),
    st.text("abc\n", max_size=5),
)
def test_common_patterns_mean_the_same_in_both_dialects(pattern: str, text: str) -> None:
    """Where RE2 and Python agree, nothing is changed."""
    assert bool(compile_regex(pattern).search(text)) == bool(re.search(pattern, text))


@given(st.text(max_size=12))
def test_any_pattern_compiles_or_is_refused(pattern: str) -> None:
    """A pattern is refused with a RegexError, never by something else, and without warnings."""
    with contextlib.suppress(RegexError):
        compile_regex(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\C", r"\\\C", r"\Qa\E\C", r"(?=a)", r"(a)\1", "a++", "a{1001}"]
)
def test_patterns_that_go_refuses(pattern: str) -> None:
    """What Go's regexp does not know is refused, also the one thing that RE2 knows more of."""
    with pytest.raises(RegexError, match="invalid regular expression"):
        compile_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"^\pL+$", "éa"), ("(?U)a+", "aa"), ("(?i)É", "é"), (r"\\C", r"\C"), (r"\Q\C\E", r"\C")],
)
def test_patterns_that_go_knows(pattern: str, text: str) -> None:
    """Unicode classes, letters' case and the ungreedy flag work as in Go."""
    assert compile_regex(pattern).search(text)


def test_hostile_patterns_take_linear_time() -> None:
    """A pattern that would keep a backtracking engine busy for ever is answered at once."""
    assert compile_regex("^(a+)+$").search("a" * 10_000 + "!") is None


def test_type_variables_take_the_most_general_type() -> None:
    """A list of unknown elements takes the type that it is joined with."""
    unifier = Unifier()
    (elements,) = unifier.instance([parse_type("list(A)")])
    assert unifier.assignable([elements], [parse_type("list(int)")])
    assert str(unifier.resolve(elements)) == "list(int)"
    assert not unifier.assignable([elements], [parse_type("list(string)")])
    assert str(unifier.resolve(elements)) == "list(int)"
