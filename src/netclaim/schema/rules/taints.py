"""The rules for taints of devices, for tolerations of them, and for DeviceTaintRules."""

from collections.abc import Iterator
from typing import Final

from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.refusal import Fault, invalid, missing, unsupported
from netclaim.schema.rules.names import (
    check_driver,
    check_label,
    check_label_key,
    check_label_value,
    check_pool,
)

EFFECTS: Final = ("NoExecute", "NoSchedule", "None")


def check_taint(taint: JsonObject, at: Path) -> Iterator[Fault]:
    yield from check_label_key(taint.get("key", ""), (*at, "key"))
    if taint.get("value"):
        yield from check_label_value(taint["value"], (*at, "value"))
    effect = taint.get("effect", "")
    if not effect:
        yield missing((*at, "effect"))
    elif effect not in EFFECTS:
        yield unsupported((*at, "effect"), effect, EFFECTS)


def check_toleration(toleration: JsonObject, at: Path) -> Iterator[Fault]:
    """A claim's toleration of taints."""
    if toleration.get("key"):
        yield from check_label_key(toleration["key"], (*at, "key"))
    operator, value = toleration.get("operator", ""), toleration.get("value", "")
    match operator:
        case "Exists" if value:
            yield invalid((*at, "value"), value, "must be empty for operator `Exists`")
        case "Exists":
            pass
        case "Equal":
            yield from check_label_value(value, (*at, "value"))
        case _:
            yield unsupported((*at, "operator"), operator, ("Equal", "Exists"))
    effect = toleration.get("effect", "")
    if effect and effect not in EFFECTS:
        yield unsupported((*at, "effect"), effect, EFFECTS)


def check_rule_spec(spec: JsonObject, at: Path) -> Iterator[Fault]:
    selector = spec.get("deviceSelector") or {}
    checks = (("driver", check_driver), ("pool", check_pool), ("device", check_label))
    for key, check in checks:
        if key in selector:
            yield from check(selector[key], (*at, "deviceSelector", key))
    yield from check_taint(spec.get("taint") or {}, (*at, "taint"))
