"""A selector's trace names the clauses that are not true, with the values they read."""

import pytest

from netclaim.allocator.cel import compile_selector, device_view
from netclaim.allocator.cel.trace import Clause, Reading, Tracer
from netclaim.model.api.dra.slice import PublishedDevice

VIEW = device_view(
    "dra.example",
    PublishedDevice.read(
        {
            "name": "eth1",
            "attributes": {
                "name": {"string": "eth1"},
                "mtu": {"int": 1500},
                "fw": {"version": "1.2.3"},
            },
            "capacity": {"bandwidth": {"value": "10G"}},
        }
    ),
)
MINE = 'device.attributes["dra.example"]'


def clauses(expression: str) -> tuple[Clause, ...]:
    """Trace an expression on the device."""
    return Tracer(compile_selector(expression)).trace(VIEW)


def test_each_clause_has_its_outcome_and_values() -> None:
    """What && joins is reported one by one, in the author's words."""
    assert clauses(f'{MINE}.name == "eth1" && ({MINE}.mtu >= 9000)') == (
        Clause(f'{MINE}.name == "eth1"', "true", (Reading(f"{MINE}.name", '"eth1"'),)),
        Clause(f"({MINE}.mtu >= 9000)", "false", (Reading(f"{MINE}.mtu", "1500"),)),
    )


def test_missing_attribute_is_named_with_what_there_is() -> None:
    """A clause without a value says what the device lacks, and what it has instead."""
    (clause,) = clauses(f"{MINE}.speed > 10")
    assert (clause.outcome, clause.error) == ("error", "no such key: speed")
    assert clause.readings[0].missing == (
        "the device has no attribute 'speed' in 'dra.example', only fw, mtu, name"
    )


def test_unknown_domain_is_named_with_those_there_are() -> None:
    """A domain that no attribute is in is told apart from a missing attribute."""
    (clause,) = clauses('device.attributes["dra.exmaple"].mtu > 10')
    assert str(clause.readings[0]) == (
        "the device has no attribute in 'dra.exmaple'; its domains: dra.example"
    )


def test_bound_names_are_seen_through() -> None:
    """Clauses inside cel.bind() are reported one by one, by the bound name."""
    found = clauses(f'cel.bind(d, {MINE}, d.name == "eth0" && d.mtu == 1500)')
    assert [str(clause) for clause in found] == [
        '`d.name == "eth0"` is false (d.name is "eth1")',
        "`d.mtu == 1500` is true (d.mtu is 1500)",
    ]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (f"{MINE}.?speed.orValue(0) > 1", f"({MINE}.?speed is optional.none())"),
        (f"{MINE}.?mtu.orValue(0) > 9000", f"({MINE}.?mtu is optional.of(1500))"),
        (f'{MINE}.fw.isGreaterThan(semver("2.0.0"))', f"({MINE}.fw is 1.2.3)"),
        (
            'device.capacity["dra.example"].bandwidth.isGreaterThan(quantity("25G"))',
            '(device.capacity["dra.example"].bandwidth is 10G)',
        ),
        (f'["a", "b"].exists(x, x == {MINE}.name)', f'({MINE}.name is "eth1")'),
        (f"!has({MINE}.mtu)", f"(has({MINE}.mtu) is true)"),
        (
            '"other.example" in device.attributes',
            '(device.attributes is {"dra.example": {"name": "eth1", "mtu": 1500, "fw": 1.2.3}})',
        ),
        ("device.allowMultipleAllocations", "is false"),
        (f"{MINE}.name", "it is a string, not true or false"),
    ],
)
def test_readings(expression: str, text: str) -> None:
    """Everything that a clause reads from the device is shown, written as CEL writes it."""
    (clause,) = clauses(expression)
    assert clause.outcome != "true"
    assert str(clause).endswith(text)
