"""Growth is counted as it is."""

from functools import partial

import pytest

from tests.support.growth import assert_flat, assert_linear, steps


def squares(n: int) -> int:
    """Work that grows with the square."""
    return sum(1 for _ in range(n) for _ in range(n))


def test_steps() -> None:
    """The same work has the same number of steps."""
    assert steps(partial(squares, 30)) == steps(partial(squares, 30)) > 900


def test_more_than_linear() -> None:
    """Quadratic work is neither linear nor flat; linear work is one, constant work the other."""
    with pytest.raises(AssertionError, match="more than linear"):
        assert_linear(lambda n: partial(squares, n), 16)
    with pytest.raises(AssertionError, match="it grows"):
        assert_flat(lambda n: lambda: [each for each in range(n)], 16)  # noqa: C416
    assert_linear(lambda n: lambda: [each for each in range(n)], 16)  # noqa: C416
    assert_flat(lambda _: partial(squares, 9), 16)
