"""What a key of a configuration is, beside its type: its spelling, what it may hold, its purpose.

The fields of a plugin's configuration class are its keys, so the class is the table:

    class VlanConf(StackedConf, frozen=True):
        vlan_id: Annotated[int, KeyRule("the VLAN", low=0, high=4094)] = 0

Promise: reading a configuration ignores the rules, and so accepts what the reference plugins do.
`strict` applies them, to what is about to be used for the first time. No I/O.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from netclaim.cni.key_case import fold


@dataclass(frozen=True, slots=True)
class KeyRule:
    """What there is to say of a key."""

    about: str
    name: str = ""  # its spelling, where it is not the field's in camelCase
    choices: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    check: Callable[[str], object] | None = None  # raises where a text is not what it should be
    missing: str = ""  # what to write if it is missing; empty: it may be left out


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """A key of a configuration, with all that is known of it."""

    name: str
    type: Any  # bool, int, str, a tuple or dict of these, or the class of an object
    rule: KeyRule
    required: bool = False

    @property
    def shown_type(self) -> str:
        """The type in words, as documentation has it."""
        return _shown(self.type)


@lru_cache(maxsize=64)  # the classes of the plugins that there are
def declared(conf: type[msgspec.Struct]) -> Mapping[str, DeclaredKey]:
    """Return the keys of a configuration class, by what all their spellings have in common."""
    hints = get_type_hints(conf, include_extras=True)
    found = {}
    for field in msgspec.structs.fields(conf):
        base, rule = _taken_apart(hints[field.name])
        name = rule.name or _camel(field.name)
        required = field.required or bool(rule.missing)
        found[fold(name)] = DeclaredKey(name, base, rule, required)
    return found


def known_keys(conf: type[msgspec.Struct]) -> Mapping[str, DeclaredKey]:
    """Return the same with the keys that may be there and are passed over."""
    unused: tuple[str, ...] = getattr(conf, "unused", ())
    return {
        **{fold(name): DeclaredKey(name, Any, KeyRule("passed over")) for name in unused},
        **declared(conf),
    }


def keys_within(key: DeclaredKey) -> tuple[str, Mapping[str, DeclaredKey]]:
    """Return the keys of the objects that a value is made of, and how lists of them are written."""
    brackets, inner = "", key
    while get_origin(inner.type) is tuple:
        brackets, inner = f"{brackets}[]", item_of(inner.type)
    of_objects = isinstance(inner.type, type) and issubclass(inner.type, msgspec.Struct)
    return brackets, declared(inner.type) if of_objects else {}


def item_of(base: Any) -> DeclaredKey:
    """Return what a list or an object of free keys holds."""
    item = next(each for each in reversed(get_args(base)) if each is not Ellipsis)
    inner, rule = _taken_apart(item)
    return DeclaredKey("", inner, rule)


def _taken_apart(hint: Any) -> tuple[Any, KeyRule]:
    """Split an annotation into the bare type and the rule, with the bounds of the type in it."""
    if get_origin(hint) is Annotated:
        base, *extras = get_args(hint)
        base, rule = _taken_apart(base)
        for extra in extras:
            if isinstance(extra, msgspec.Meta):
                rule = _bounded(rule, extra)
            elif isinstance(extra, KeyRule):
                low = rule.low if extra.low is None else extra.low
                high = rule.high if extra.high is None else extra.high
                rule = replace(extra, low=low, high=high)
        return base, rule
    if get_origin(hint) in {Union, types.UnionType}:
        return _taken_apart(next(each for each in get_args(hint) if each is not types.NoneType))
    return hint, KeyRule("")


def _bounded(rule: KeyRule, meta: msgspec.Meta) -> KeyRule:
    low, above = meta.ge, meta.lt
    return replace(
        rule,
        low=rule.low if low is None else int(low),
        high=rule.high if above is None else int(above) - 1,
    )


def _camel(field: str) -> str:
    first, *others = field.split("_")
    return first + "".join(word.capitalize() for word in others)


def _shown(base: Any) -> str:
    simple = {bool: "true or false", int: "number", str: "string"}
    if base in simple:
        return simple[base]
    if get_origin(base) is tuple:
        inner = _shown(item_of(base).type)
        return (
            f"list of {inner.replace('list', 'lists', 1)}"
            if "list" in inner
            else (f"list of {inner}s")
        )
    return "any" if base is Any else "object"
