"""Find the pods that objects of other groups describe: jobs of operators, sets of leaders, groups.

Whatever its kind, a template of pods looks like one: a list of containers, or of claims, in an
object's field. Promise: each object is walked once, and not deeper than any such kind nests. Limit:
only what concerns claims is judged, as the other fields may have a meaning of their own there.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from netclaim.manifests.objects import Object, inside
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path

CLAIM_KEYS: Final = ("resourceClaimName", "resourceClaimTemplateName")
DEPTH_MAX: Final = 16  # steps; a JobSet's pods are 7 deep, those of a set of PodCliques 8


def pods_in(one: Object) -> Iterator[tuple[Path, JsonObject]]:
    """Yield the place of each pod's spec, and what of it says which claims its containers use."""
    for path, found in _walk(one.object, ()):
        claims = [each for each in _list_of(found, "resourceClaims") if _names_claim(each)]
        if claims:
            yield path, {"resourceClaims": claims, **_containers(found)}


def as_pod(one: Object, path: Path, spec: JsonObject) -> Object:
    """Return an object with nothing but a pod's spec at a path, as its own finding places it."""
    return replace(one, object=_at(path, spec, one.object))


def has_pods(one: Object) -> bool:
    """Whether an object describes pods with claims."""
    return next(pods_in(one), None) is not None


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, JsonObject]]:
    if len(path) > DEPTH_MAX:
        return
    if isinstance(value, dict):
        if isinstance(value.get("resourceClaims"), list):
            yield path, value
        for key, each in value.items():
            yield from _walk(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _walk(each, (*path, number))


def _names_claim(entry: JsonObject) -> bool:
    return isinstance(entry.get("name"), str) and any(
        isinstance(entry.get(key), str) for key in CLAIM_KEYS
    )


def _containers(found: JsonObject) -> JsonObject:
    kept: JsonObject = {"hostNetwork": True} if found.get("hostNetwork") is True else {}
    for key in ("containers", "initContainers"):
        kept[key] = [
            {"resources": {"claims": _list_of(inside(each, ("resources",)), "claims")}}
            for each in _list_of(found, key)
        ]
    return kept


def _list_of(found: JsonObject, key: str) -> list[JsonObject]:
    values = found.get(key)
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _at(path: Path, value: Any, whole: Any) -> Any:
    """Return a copy of what is whole in which a path leads to a value."""
    if not path:
        return value
    step, *rest = path
    if isinstance(whole, list):
        return [_at(tuple(rest), value, e) if n == step else e for n, e in enumerate(whole)]
    return {**whole, step: _at(tuple(rest), value, whole[step])}
