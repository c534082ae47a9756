"""How much each of many may have done."""

import pytest

from netclaim.controller.pacing import budget
from netclaim.controller.pacing.budget import Budget


def test_what_was_used_comes_back_bit_by_bit() -> None:
    """Up to the whole burst, and no further; another key's is its own."""
    now_s = [0.0]
    made = Budget(3, 10.0, lambda: now_s[0])
    assert [made.take("a") for _ in range(5)] == [True, True, True, False, False]
    assert made.take("b")
    now_s[0] = 10.0
    assert [made.take("a") for _ in range(2)] == [True, False]
    now_s[0] = 1_000.0
    assert [made.take("a") for _ in range(4)] == [True, True, True, False]


def test_those_who_have_all_of_it_again_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory grows with those who used something lately."""
    monkeypatch.setattr(budget, "KNOWN_MAX", 10)
    now_s = [0.0]
    made = Budget(1, 10.0, lambda: now_s[0])
    for index in range(100):
        assert made.take(f"key-{index}")
        now_s[0] += 5.0
    assert len(made._full_s) <= 10
