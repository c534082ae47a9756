"""The rules for names and other short texts, each yielding what is wrong with one of them.

The patterns and limits are the API's own. Real servers report a text that is both too long and
ill-formed twice; so does this.
"""

import re
import uuid
from collections.abc import Iterator
from typing import Final

from netclaim.paths import Path
from netclaim.schema.refusal import Fault, invalid, missing, too_long

__all__ = [
    "check_driver",
    "check_label",
    "check_label_key",
    "check_label_value",
    "check_name",
    "check_pool",
    "check_qualified",
    "check_subdomain",
    "check_uuid",
    "check_version",
]

LABEL_MAX: Final = 63
SUBDOMAIN_MAX: Final = 253
DRIVER_MAX: Final = 63
IDENTIFIER_MAX: Final = 32  # of an attribute's or capacity's name, without its domain
VALUE_MAX: Final = 64  # of an attribute's text

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
LABEL: Final = re.compile(_LABEL)
SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
KEY: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER, _PRE = r"(?:0|[1-9]\d*)", r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE}(?:\.{_PRE})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)

_ENDS: Final = "beginning and ending with a letter or digit"
IS_LABEL: Final = f"must be lower case letters, digits and '-', {_ENDS}"
IS_SUBDOMAIN: Final = f"must be lower case letters, digits, '-' and '.', {_ENDS}"
IS_KEY: Final = f"name part must be letters, digits, '-', '_' and '.', {_ENDS}"
IS_IDENTIFIER: Final = "must be letters, digits and '_', not starting with a digit"


def check_label(value: str, at: Path) -> Iterator[Fault]:
    """A DNS label, as devices and requests have for a name."""
    yield from (invalid(at, value, reason) for reason in _not_a_label(value))


def check_subdomain(value: str, at: Path) -> Iterator[Fault]:
    """A DNS subdomain, as most objects have for a name."""
    yield from (invalid(at, value, reason) for reason in _not_a_subdomain(value))


def _not_a_label(value: str) -> Iterator[str]:
    if len(value) > LABEL_MAX:
        yield f"must be no more than {LABEL_MAX} bytes"
    if not LABEL.fullmatch(value):
        yield IS_LABEL


def _not_a_subdomain(value: str) -> Iterator[str]:
    if len(value) > SUBDOMAIN_MAX:
        yield f"must be no more than {SUBDOMAIN_MAX} bytes"
    if not SUBDOMAIN.fullmatch(value):
        yield IS_SUBDOMAIN


def check_name(value: str, at: Path, *, label: bool, prefix: bool = False) -> Iterator[Fault]:
    """An object's name, or the beginning of one, which may end with a dash."""
    # The server puts its own letters behind a prefix, so that only the rest must be a name.
    judged = f"{value[:-1]}a" if prefix and value.endswith("-") else value
    for reason in (_not_a_label if label else _not_a_subdomain)(judged):
        yield invalid(at, value, reason)


def check_driver(value: str, at: Path) -> Iterator[Fault]:
    """A driver's name."""
    if not value:
        yield missing(at)
        return
    if len(value) > DRIVER_MAX:
        yield too_long(at, DRIVER_MAX)
    if not SUBDOMAIN.fullmatch(value.lower()):
        yield invalid(at, value, IS_SUBDOMAIN)


def check_pool(value: str, at: Path) -> Iterator[Fault]:
    """A pool's name: subdomains between slashes."""
    if not value:
        yield missing(at)
        return
    if len(value) > SUBDOMAIN_MAX:
        yield too_long(at, SUBDOMAIN_MAX)
    for part in value.split("/"):
        yield from check_subdomain(part, at)


def check_qualified(value: str, at: Path, *, fully: bool = False) -> Iterator[Fault]:
    """The name of an attribute or capacity, with or without its domain."""
    domain, slash, name = value.rpartition("/")
    if slash and not domain:
        yield invalid(at, "", "the domain must not be empty")
    elif domain and "/" not in domain:
        yield from check_driver(domain, at)
    if slash and not name:
        yield invalid(at, "", "the name must not be empty")
    elif "/" not in domain:
        yield from _check_identifier(name, at)
    if fully and not slash:
        yield invalid(at, value, "must be a domain and a name with a slash between")


def _check_identifier(value: str, at: Path) -> Iterator[Fault]:
    if len(value) > IDENTIFIER_MAX:
        yield too_long(at, IDENTIFIER_MAX)
    if not IDENTIFIER.fullmatch(value):
        yield invalid(at, value, IS_IDENTIFIER)


def check_label_key(value: str, at: Path) -> Iterator[Fault]:
    """The key of a label, annotation, taint or condition."""
    prefix, slash, name = value.rpartition("/")
    if slash and not prefix:
        yield invalid(at, value, "prefix part must be non-empty")
    elif slash and not SUBDOMAIN.fullmatch(prefix):
        yield invalid(at, value, f"prefix part {IS_SUBDOMAIN}")
    if not name:
        yield invalid(at, value, "name part must be non-empty")
    elif len(name) > LABEL_MAX:
        yield invalid(at, value, f"name part must be no more than {LABEL_MAX} bytes")
    if not KEY.fullmatch(name):
        yield invalid(at, value, IS_KEY)


def check_label_value(value: str, at: Path) -> Iterator[Fault]:
    """The value of a label or taint."""
    if len(value) > LABEL_MAX:
        yield invalid(at, value, f"must be no more than {LABEL_MAX} bytes")
    if value and not KEY.fullmatch(value):
        yield invalid(at, value, IS_KEY.replace("name part ", ""))


def check_uuid(value: str, at: Path) -> Iterator[Fault]:
    """A UUID in its usual form."""
    try:
        usual = str(uuid.UUID(value)) == value
    except ValueError:
        usual = False
    if not usual:
        yield invalid(at, value, "must be a lower case UUID")


def check_version(value: str, at: Path) -> Iterator[Fault]:
    """The value of an attribute that is a version."""
    if not VERSION.fullmatch(value):
        yield invalid(at, value, "must be a semantic version such as 1.2.3")
    if len(value) > VALUE_MAX:
        yield too_long(at, VALUE_MAX)
