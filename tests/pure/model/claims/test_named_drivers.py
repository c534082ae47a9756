"""The drivers that the text of a selector names."""

import pytest

from netclaim.model.claims.named_drivers import named_drivers


@pytest.mark.parametrize(
    ("expression", "drivers"),
    [
        ('device.driver == "a.example"', {"a.example"}),
        ("device.driver=='a.example' && device.attributes['a.example'].fast", {"a.example"}),
        (
            'device.driver == "a.example" || device.driver == "b.example"',
            {"a.example", "b.example"},
        ),
        ('"a.example" == device.driver', set()),
        ('mydevice.driver == "a.example"', set()),
        ("device.attributes['a.example'].name == \"eth1\"", set()),
    ],
)
def test_named_drivers(expression: str, drivers: set[str]) -> None:
    """Every comparison with `device.driver` counts, in either kind of quotes."""
    assert named_drivers(expression) == drivers
