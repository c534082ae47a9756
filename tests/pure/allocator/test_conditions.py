"""What the conditions of a selector read of a device."""

import pytest

from netclaim.allocator.cel import compile_selector, conditions

A = 'device.attributes["example.com"]'


def reads(expression: str) -> list[set[str]]:
    """What each condition reads, as paths with slashes."""
    found = conditions(compile_selector(expression))
    return [{"/".join(path) for path in one.reads} for one in found]


@pytest.mark.parametrize(
    "expression",
    [
        f'{A}.size == "x"',
        f'{A}["size"] == "x"',
        f'{A}.?size.orValue("") == "x"',
        f'{A}[?"size"].hasValue()',
        f"has({A}.size)",
        f"{A}.?size.optMap(it, it == 1).orValue(false)",
        f'cel.bind(a, {A}, a.size == "x")',
        f"[1, 2].exists(n, n == {A}.size)",
    ],
)
def test_one_attribute(expression: str) -> None:
    """An attribute is found however it is read."""
    assert reads(expression) == [{"attributes/example.com/size"}]


@pytest.mark.parametrize(
    ("expression", "read"),
    [
        (f"{A}.size() > 1", "attributes/example.com"),
        (f'{A}.exists(size, size == "x")', "attributes/example.com"),
        ('device.attributes.exists(device, device == "x")', "attributes"),
        ('device.driver == "example.com"', "driver"),
        (f"{A}[device.driver] == 1", "attributes/example.com driver"),
    ],
)
def test_not_by_constant_names(expression: str, read: str) -> None:
    """What is not read by constant names counts as the whole of where it stands."""
    assert reads(expression) == [set(read.split())]


def test_each_condition_by_itself() -> None:
    """Conditions are what `&&` joins, also inside of cel.bind()."""
    found = reads(f"cel.bind(a, {A}, a.size > 1 && (a.kind == 1 || true)) && device.driver != ''")
    assert found == [{"attributes/example.com/size"}, {"attributes/example.com/kind"}, {"driver"}]
