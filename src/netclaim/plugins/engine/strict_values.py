"""Check the values of a configuration against what its class says of them.

Promise: each mistake has the path of its key; null means absent, as in Go. What `msgspec` would not
read is a mistake here. No I/O.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, get_origin

import msgspec

from netclaim.cni import DNS, Route
from netclaim.cni.key_case import fold
from netclaim.errors import NetclaimError, RequestError
from netclaim.manifests.near import did_you_mean
from netclaim.paths import Key, Path
from netclaim.plugins.engine.conf import Conf, lowered, read_cidr, read_ip
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import DeclaredKey, KeyRule, item_of, known_keys
from netclaim.plugins.engine.unknown_keys import unknown_keys

SHOWN_MAX: Final = 64  # characters of a value
ITEMS_MAX: Final = 64  # of one list that are looked at


def _read_name_server(written: str) -> None:
    """Read an address that may have a zone, as a resolver takes it."""
    read_ip(written.partition("%")[0])


# CNI's own objects: their classes are also those of results, and so carry no rules.
CNI_KEYS: Final[Mapping[type[msgspec.Struct], Mapping[str, DeclaredKey]]] = {
    Route: {
        "dst": DeclaredKey(
            "dst",
            str,
            KeyRule("", check=read_cidr, missing="for example 10.0.0.0/8"),
            required=True,
        ),
        "gw": DeclaredKey("gw", str, KeyRule("", check=read_ip)),
    },
    DNS: {
        "nameservers": DeclaredKey(
            "nameservers",
            tuple[Annotated[str, KeyRule("", check=_read_name_server)], ...],
            KeyRule(""),
        )
    },
}


def object_faults(
    known: Mapping[str, DeclaredKey],
    value: Mapping[str, Any],
    path: Path,
    *,
    closed: bool = True,
    unlisted: Collection[str] = (),
    under_ipam: Collection[str] = (),
) -> Iterator[RequestError]:
    """Check an object's keys; `closed`: those that are not known are a mistake.

    To what was meant by one of those, `unlisted` keys are no answer unless they are like it.
    """
    written = {fold(key): key for key, inner in value.items() if inner is not None}
    for folded, each in known.items():
        key = written.get(folded)
        if key is not None and not (each.required and value[key] == ""):
            yield from _value_faults(each, value[key], (*path, key), closed=closed)
        elif each.required:
            example = f"; {each.rule.missing}" if each.rule.missing else ""
            yield RequestError(f"{each.name} is missing{example}", path=(*path, key or each.name))
    if closed:
        unknown = [key for folded, key in written.items() if folded not in known and "/" not in key]
        listed = [each.name for key, each in known.items() if key not in unlisted]
        names = [each.name for each in known.values()]
        yield from _unknown(unknown, names, listed, path, under_ipam)


def _unknown(
    unknown: Sequence[str],
    known: Sequence[str],
    listed: Sequence[str],
    path: Path,
    under_ipam: Collection[str],
) -> Iterator[RequestError]:
    def hint(key: str) -> str:
        if fold(key) in under_ipam:
            return "; it belongs under ipam"
        return did_you_mean(key, known) or f"; known keys are {', '.join(listed)}"

    for message, where in unknown_keys(unknown, path, hint):
        yield RequestError(message, path=where)


def _value_faults(
    each: DeclaredKey, value: object, path: Path, *, closed: bool = True
) -> Iterator[RequestError]:
    """Check a value against its type, and if it has that, against the rest of its rule."""
    base = each.type
    if base is Any:
        return
    if get_origin(base) is tuple:
        yield from _list_faults(each, value, path)
    elif get_origin(base) is dict:
        yield from _map_faults(base, value, path)
    elif isinstance(base, type) and issubclass(base, msgspec.Struct):
        yield from _struct_faults(base, value, path, closed=closed)
    elif not isinstance(value, base) or (base is int and isinstance(value, bool)):
        yield RequestError(_must_be(base), path=path)
    elif message := _rule_fault(each.rule, value):
        yield RequestError(message, path=path)


def _must_be(base: type) -> str:
    if base is bool:
        return "must be true or false"
    return "must be a whole number" if base is int else "must be a string"


def _rule_fault(rule: KeyRule, value: object) -> str:
    """Say what is wrong with a value of the right type; an empty text means nothing is said."""
    if isinstance(value, str) and value:
        if rule.choices and value not in rule.choices:
            return f'"{value[:SHOWN_MAX]}" is not one of {", ".join(rule.choices)}'
        if rule.check is not None:
            try:
                rule.check(value)
            except NetclaimError as error:
                return error.message if isinstance(error, RequestError) else str(error)
    if isinstance(value, int) and not isinstance(value, bool):
        if rule.low is not None and value < rule.low and rule.high is None:
            return f"{value} is less than {rule.low}"
        low = value if rule.low is None else rule.low
        high = value if rule.high is None else rule.high
        if low < 0 and value > high:  # what is below zero is none
            return f"{value} is more than {high}"
        if not low <= value <= high:
            return f"{value} is not between {low} and {high}"
    return ""


def _list_faults(each: DeclaredKey, value: object, path: Path) -> Iterator[RequestError]:
    inner = item_of(each.type)
    if not isinstance(value, list):
        yield RequestError(f"must be a {each.shown_type}", path=path)
        return
    for number, one in enumerate(value[:ITEMS_MAX]):
        if get_origin(inner.type) is tuple and isinstance(one, dict):
            message = f"must be a {inner.shown_type}; for example [[{{subnet: 10.10.1.0/24}}]]"
            yield RequestError(message, path=(*path, number))
        elif one is not None:
            yield from _value_faults(inner, one, (*path, number))


def _map_faults(base: Any, value: object, path: Path) -> Iterator[RequestError]:
    if not isinstance(value, dict):
        yield RequestError("must be an object", path=path)
        return
    inner = item_of(base)
    for key, one in value.items():
        if inner.type is str and isinstance(one, int | float):
            written = str(one).lower() if isinstance(one, bool) else one
            yield RequestError(f'must be a string; write "{written}"', path=(*path, Key(key)))
        elif one is not None:
            yield from _value_faults(inner, one, (*path, Key(key)))


def _struct_faults(
    base: type[msgspec.Struct], value: object, path: Path, *, closed: bool
) -> Iterator[RequestError]:
    if not isinstance(value, dict):
        yield RequestError("must be an object", path=path)
        return
    known = {**known_keys(base), **CNI_KEYS.get(base, {})}
    faults = list(object_faults(known, value, path, closed=closed))
    yield from faults
    if not faults:
        try:
            read = msgspec.convert(lowered(value), base)
            if isinstance(read, Conf):
                read.refuse()
        except msgspec.ValidationError as error:
            yield RequestError(str(error), path=path)
        except ConfError as error:
            yield RequestError(str(error), path=(*path, *error.path))
