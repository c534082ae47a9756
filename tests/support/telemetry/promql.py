"""Reads what a PromQL expression uses: metrics, the labels it selects by and those it keeps.

Enough for the dashboard and the alerts; an expression that it cannot read has a name left over,
which is reported as a metric that does not exist.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

FUNCTIONS = frozenset(
    {
        "rate",
        "increase",
        "changes",
        "sum",
        "min",
        "max",
        "count",
        "histogram_quantile",
        "last_over_time",
        "vector",
    }
)
KEYWORDS = frozenset({"by", "without", "on", "ignoring", "and", "or", "unless", "bool"})
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
SELECTOR = re.compile(r"([a-z_:]+)\s*\{([^}]*)\}")
MATCHER = re.compile(r'([a-z_]+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
NAME = re.compile(r"(?<![\w$])[a-z_:][a-z_:0-9]*")
SERIES = re.compile(r"_(?:bucket|count|sum)$")


@dataclass(frozen=True)
class Matcher:
    """One condition of a selector."""

    metric: str  # as it is declared
    label: str
    operator: str
    value: str


def matchers(expr: str) -> Iterator[Matcher]:
    """Every condition of every selector."""
    for metric, inside in SELECTOR.findall(expr):
        for label, operator, value in MATCHER.findall(inside):
            yield Matcher(declared(metric), label, operator, value)


def metrics(expr: str) -> set[str]:
    """Every metric, as it is declared."""
    bare = GROUPING.sub(" ", re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", STRING.sub(" ", expr)))
    return {declared(name) for name in NAME.findall(bare) if name not in FUNCTIONS | KEYWORDS}


def grouped(expr: str) -> set[str]:
    """Every label that something is grouped or joined by."""
    return {label.strip() for inside in GROUPING.findall(expr) for label in inside.split(",")} - {
        ""
    }


def declared(name: str) -> str:
    """A metric's own name, of one of its series."""
    return name if name.endswith("_total") else SERIES.sub("", name)
