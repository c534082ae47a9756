"""Evaluates PromQL over sample series: what the chart's alerts use of it, as Prometheus does.

    series = [Series("up", {"job": "a"}, {0: 1, 60: 0})]
    fires(rule, series, at=600)

Promise: vectors are matched by labels as in Prometheus, `and` before `or`; an expression with
anything else fails to be read. Limit: `rate` and `increase` take the samples as they are, and do
not extrapolate to the ends of the range.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

Labels: TypeAlias = frozenset[tuple[str, str]]
Vector: TypeAlias = dict[Labels, float]
Value: TypeAlias = Vector | float
LOOKBACK_S: Final = 300  # a sample counts for so long, Prometheus' default
STEP_S: Final = 60  # between two looks at a rule
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
NAME: Final = "__name__"
TOKEN: Final = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<range>\[\d+[smhd]\])|(?P<number>\d+(?:\.\d+)?)'
    r"|(?P<word>[A-Za-z_:][\w:]*)|(?P<sign>[=!<>]=|=~|!~|[-+*/<>=(){},]))"
)
COMPARE: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
    ">=": operator.ge, "<=": operator.le,
}  # fmt: skip
COUNT: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
# From what binds least to what binds most.
LEVELS: Final = (("or",), ("and", "unless"), tuple(COMPARE), ("+", "-"), ("*", "/"))
AGGREGATE: Final[Mapping[str, Callable[[list[float]], float]]] = {
    "sum": sum, "min": min, "max": max,
}  # fmt: skip
MATCH: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "=~": lambda has, wanted: re.fullmatch(wanted, has) is not None,
    "!~": lambda has, wanted: re.fullmatch(wanted, has) is None,
}


@dataclass(frozen=True)
class Series:
    """A metric with its labels, and its samples by second."""

    name: str
    labels: Mapping[str, str]
    samples: Mapping[int, float]


def fires(rule: Mapping[str, Any], series: Sequence[Series], at: int) -> list[Mapping[str, str]]:
    """The labels with which an alert fires: its expression has held for its whole `for`."""
    wait_s = _seconds(rule.get("for", "0m"))
    held: set[Labels] | None = None
    for now in range(at - wait_s, at + 1, STEP_S):
        found = set(evaluate(rule["expr"], series, now))
        held = found if held is None else held & found
    return [dict(labels) for labels in sorted(held or (), key=sorted)]


def evaluate(expr: str, series: Sequence[Series], at: int) -> Vector:
    """What an expression that gives a vector is at a second."""
    reader = _Reader(expr, series, at)
    found = reader.binary(0)
    assert reader.next == "", f"cannot read {reader.next!r} in {expr}"
    assert isinstance(found, dict), f"{expr} is a number"
    return found


def _seconds(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]]


class _Reader:
    """Reads an expression and evaluates it at once."""

    def __init__(self, expr: str, series: Sequence[Series], at: int) -> None:
        self._tokens = list(_tokens(expr))
        self._place = 0
        self._series = series
        self._at = at

    @property
    def next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.next
        assert token, "the expression ends too early"
        assert not wanted or token == wanted, f"{token!r} in place of {wanted!r}"
        self._place += 1
        return token

    def binary(self, level: int) -> Value:
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.next in LEVELS[level]:
            sign = self.take()
            by_flag = self.next == "bool" and bool(self.take())
            key = self.matching()
            left = _combined(sign, left, self.binary(level + 1), key, flag=by_flag)
        return left

    def matching(self) -> Callable[[Labels], Labels]:
        """How two series are compared: by all labels, by some, or by all but some."""
        how = self.take() if self.next in {"on", "ignoring"} else ""
        named = set(self.names()) if how else set()
        return lambda has: frozenset(
            (key, value)
            for key, value in has
            if key != NAME and (not how or (key in named) == (how == "on"))
        )

    def names(self) -> Iterator[str]:
        self.take("(")
        while self.next != ")":
            token = self.take()
            if token != ",":
                yield token
        self.take(")")

    def unary(self) -> Value:
        token = self.take()
        if token == "(":
            found = self.binary(0)
            self.take(")")
            return found
        if re.fullmatch(r"[\d.]+", token):
            return float(token)
        if token in AGGREGATE:
            return self.aggregated(AGGREGATE[token])
        if self.next == "(":
            assert token in OVER_TIME, f"unknown function {token}"
            self.take("(")
            chosen = self.selected(self.take())
            since = self._at - _seconds(self.take()[1:-1])
            self.take(")")
            return _over_time(token, chosen, since, self._at)
        return _over_time("", self.selected(token), self._at - LOOKBACK_S, self._at)

    def aggregated(self, how: Callable[[list[float]], float]) -> Vector:
        self.take("by")
        kept = set(self.names())
        self.take("(")
        inner = self.binary(0)
        self.take(")")
        groups: dict[Labels, list[float]] = {}
        assert isinstance(inner, dict)
        for labels, value in inner.items():
            group = frozenset(each for each in labels if each[0] in kept)
            groups.setdefault(group, []).append(value)
        return {group: how(values) for group, values in groups.items()}

    def selected(self, name: str) -> list[Series]:
        found = [each for each in self._series if each.name == name]
        if self.next == "{":
            self.take()
            while self.next != "}":
                label, sign, text = self.take(), self.take(), self.take()[1:-1]
                found = [each for each in found if MATCH[sign](each.labels.get(label, ""), text)]
                if self.next == ",":
                    self.take()
            self.take("}")
        return found


def _tokens(expr: str) -> Iterator[str]:
    place, expr = 0, expr.strip()
    while place < len(expr):
        match = TOKEN.match(expr, place)
        assert match is not None, f"cannot read {expr[place:]!r}"
        yield match[0].strip()
        place = match.end()


def _last(values: Sequence[float]) -> float:
    return values[-1]


def _increase(values: Sequence[float]) -> float:
    return sum(now - before if now >= before else now for before, now in pairwise(values))


def _changes(values: Sequence[float]) -> float:
    return sum(now != before for before, now in pairwise(values))


OVER_TIME: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "": _last, "last_over_time": _last, "changes": _changes,
    "increase": _increase, "rate": _increase,  # per second, which a ratio does not show
}  # fmt: skip


def _over_time(how: str, chosen: Iterable[Series], since: int, at: int) -> Vector:
    found: Vector = {}
    for each in chosen:
        values = [value for when, value in sorted(each.samples.items()) if since < when <= at]
        if not values or (how in {"increase", "rate"} and len(values) == 1):
            continue
        keeps_name = how in {"", "last_over_time"}
        labels = {**each.labels, **({NAME: each.name} if keeps_name else {})}
        found[frozenset(labels.items())] = OVER_TIME[how](values)
    return found


def _combined(
    sign: str, left: Value, right: Value, key: Callable[[Labels], Labels], *, flag: bool
) -> Value:
    if sign in {"and", "or", "unless"}:
        assert isinstance(left, dict)
        assert isinstance(right, dict)
        there = {key(labels) for labels in (left if sign == "or" else right)}
        if sign == "or":
            return left | {has: value for has, value in right.items() if key(has) not in there}
        return {has: value for has, value in left.items() if (key(has) in there) == (sign == "and")}
    pairs: dict[Labels, tuple[float, float | None]]
    if isinstance(left, dict) and isinstance(right, dict):
        others = {key(labels): value for labels, value in right.items()}
        assert len(others) == len(right), "several series match one"
        pairs = {has: (value, others.get(key(has))) for has, value in left.items()}
    elif isinstance(left, dict):
        assert not isinstance(right, dict)
        pairs = {has: (value, right) for has, value in left.items()}
    else:
        assert not isinstance(right, dict), "write the number last"
        return COUNT[sign](left, right)
    return dict(_each(sign, pairs, key, flag=flag))


def _each(
    sign: str,
    pairs: Mapping[Labels, tuple[float, float | None]],
    key: Callable[[Labels], Labels],
    *,
    flag: bool,
) -> Iterator[tuple[Labels, float]]:
    for has, (value, other) in pairs.items():
        if other is None:
            continue
        if sign in COUNT:
            yield key(has), COUNT[sign](value, other)
        elif flag:
            yield key(has), float(COMPARE[sign](value, other))
        elif COMPARE[sign](value, other):
            yield has, value
