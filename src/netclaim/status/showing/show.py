"""A status on a screen, or as JSON or YAML for tools.

Promise: problems first, each with what to do; the same facts in every form. Tables are as wide as
the terminal, and in a pipe as wide as they are. JSON and YAML have every field.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from netclaim.manifests.text.yaml_dialect import dump
from netclaim.plain_text import plain_json
from netclaim.screen import Screen
from netclaim.screen.words import counted, listed
from netclaim.status.scope import Scope
from netclaim.status.showing.fit import Column, fit
from netclaim.status.showing.pool_tables import address_columns, addresses_of, pool_columns
from netclaim.status.showing.tables import (
    Ago,
    ago,
    claim_columns,
    driver_columns,
    link_columns,
    network_columns,
    node_columns,
    pod_columns,
)
from netclaim.status.values import Problem, Status

Form: TypeAlias = Literal["text", "wide", "json", "yaml"]

PROBLEMS_MAX: Final = 20  # on a screen; JSON has them all


@dataclass(frozen=True, slots=True)
class Look:
    wide: bool = False
    when: Ago = ago


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a status: its name, its columns, and the value of each row."""

    name: str
    columns: Sequence[Column[Any]]
    values: Sequence[Any]


def show(status: Status, scope: Scope, screen: Screen, look: Look) -> None:
    for note in status.notes:
        screen.line(note)
    _show_problems(status.problems, screen)
    shown = 0
    for section in sections(status, scope, look):
        if not section.values:
            continue
        if shown or status.problems or status.notes:
            screen.line("")
        fitted = fit(section.columns, section.values, screen.width, wide=look.wide)
        screen.table(fitted.header, fitted.rows, wraps=fitted.wraps)
        shown += 1
    if not shown:
        screen.line(_nothing(scope))
    if scope.view == "overview":
        screen.line("")
        screen.line(
            summary(status), good=not any(one.severity == "error" for one in status.problems)
        )


def sections(status: Status, scope: Scope, look: Look) -> list[Section]:
    """Return the tables of a status, including those without rows."""
    drivers = {one.driver for one in status.devices}
    several = len(drivers) > 1
    spaces = {one.namespace for one in status.claims} | {one.namespace for one in status.pods}
    several_spaces = not scope.namespace or len(spaces) > 1
    nodes = Section("nodes", node_columns(status.devices, several_drivers=several), status.nodes)
    links = Section("links", link_columns(several_drivers=several), status.devices)
    claims = Section(
        "claims", claim_columns(look.when, several_spaces=several_spaces), status.claims
    )
    pods = Section("pods", pod_columns(several_spaces=several_spaces), status.pods)
    networks = Section("networks", network_columns(), status.networks)
    pools = Section("pools", pool_columns(), status.pools)
    addresses = Section("addresses", address_columns(), addresses_of(status.pools))
    if scope.view == "overview":
        return [Section("drivers", driver_columns(), status.drivers), nodes, networks, pools]
    order = {
        "nodes": [nodes, links, claims, pods] if scope.names else [nodes],  # with who uses what
        "links": [links, claims],
        "claims": [claims, links, pods],
        "pods": [pods, claims, links],
        "networks": [networks, pods, claims] if scope.names else [networks],
        "pools": [pools, addresses] if scope.names else [pools],
    }
    return order[scope.view]


def _show_problems(problems: Sequence[Problem], screen: Screen) -> None:
    alike: dict[tuple[str, ...], list[Problem]] = {}  # what one cause did to many objects
    for one in problems:
        alike.setdefault((one.severity, one.kind, one.message), []).append(one)
    shown = list(alike.values())[:PROBLEMS_MAX]
    for first, *others in shown:
        screen.line(str(first), good=False if first.severity == "error" else None)
        if first.hint:
            screen.line(f"  {first.hint}")
        if others:
            names = listed([one.whose for one in others])
            screen.line(f"  the same for {counted(len(others), f'other {first.what}')}: {names}")
    if missing := len(problems) - sum(map(len, shown)):
        screen.line(f"{missing} more problems are not shown; -o json has all")


def summary(status: Status) -> str:
    """Return in a line how many claims and pods are in which state."""
    errors = sum(one.severity == "error" for one in status.problems)
    return "; ".join(
        (
            _tally(
                "claim",
                (f"{one.state}{', unhealthy' * one.is_unhealthy}" for one in status.claims),
            ),
            _tally("pod", (one.state for one in status.pods)),
            f"{counted(errors, 'error')}, {counted(len(status.problems) - errors, 'warning')}",
        )
    )


def _tally(thing: str, states: Iterable[str]) -> str:
    counts = Counter(states)
    said = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    return f"{counted(counts.total(), thing)}{f' ({said})' if said else ''}"


def _nothing(scope: Scope) -> str:
    where = f" in namespace {scope.namespace}" if scope.namespace else ""
    what = "devices" if scope.view in ("overview", "links") else scope.view
    return f"no {what}{where}"


def as_json(status: Status, *, indent: int = 2) -> str:
    """Return a status as JSON; without indentation, on one line."""
    text = plain_json(msgspec.json.encode(status))
    return (msgspec.json.format(text, indent=indent) if indent else text).decode()


def as_yaml(status: Status) -> str:
    return dump(msgspec.to_builtins(status))
