"""Quantities are exact and print as the API server prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.model import Quantity, QuantityError


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("1000M", "1G"),
        ("1500m", "1500m"),
        ("2000m", "2"),
        ("1.5Gi", "1536Mi"),
        ("1024Ki", "1Mi"),
        ("0.5Ki", "512"),
        ("1000Ki", "1000Ki"),
        ("12e6", "12e6"),
        ("1200e3", "1200e3"),
        ("1e0", "1"),
        ("-1500Mi", "-1500Mi"),
        (".5", "500m"),
        ("5.", "5"),
        ("100k", "100k"),
        ("1E", "1E"),
        (8, "8"),
        (0.25, "250m"),
    ],
)
def test_canonical(text: str | float, canonical: str) -> None:
    """The text is the API server's: no fraction, the largest suffix that keeps it whole."""
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1.2.3",
        "1 G",
        "1Kib",
        "Gi",
        "1e",
        "1e99",
        "\uff11",
        "9" * 5000,
        "1e" + "9" * 5000,
        "." + "9" * 5000,
    ],
    ids=lambda text: text[:8],
)
def test_refused(text: str) -> None:
    """What is not a quantity is refused."""
    with pytest.raises(QuantityError):
        Quantity.parse(text)


def test_notation_does_not_count() -> None:
    """Quantities compare by amount, whatever they are written in."""
    assert Quantity.parse("1Ki") == Quantity.parse("1024")
    assert Quantity.parse("1G") < Quantity.parse("1Gi")
    assert len({Quantity.parse("1k"), Quantity.parse("1000"), Quantity.parse("1e3")}) == 1


def test_finer_than_nano_is_rounded_away_from_zero() -> None:
    """Nothing finer than a billionth is kept, and no amount becomes smaller by that."""
    assert str(Quantity.parse("0.1n")) == "1n"
    assert str(Quantity.parse("-0.1n")) == "-1n"


@given(
    st.integers(min_value=-(10**18), max_value=10**18),
    st.sampled_from(["n", "u", "m", "", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-3"]),
)
def test_text_keeps_the_amount(number: int, suffix: str) -> None:
    """Printing and reading back gives the same amount, and printing again the same text."""
    quantity = Quantity.parse(f"{number}{suffix}")
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert str(again) == str(quantity)
