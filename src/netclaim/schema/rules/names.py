"""The rules for names and other short texts.

The patterns and limits are the API's own. A text that is both too long and malformed is reported
twice, as real servers do.
"""

import re
import uuid
from collections.abc import Iterator
from typing import Final

from netclaim.model.api.limits import (
    DOMAIN_MAX,
    IDENTIFIER_MAX,
    LABEL_MAX,
    LABEL_NAME_MAX,
    STRING_MAX,
    SUBDOMAIN_MAX,
)
from netclaim.model.devices.device_name import IDENTIFIER, LABEL_NAME
from netclaim.paths import Path
from netclaim.schema.refusal import Fault, invalid, missing, too_long

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
LABEL: Final = re.compile(_LABEL)
SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
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
    """A DNS label, such as the name of a device or a request."""
    yield from (invalid(at, value, reason) for reason in _not_a_label(value))


def check_subdomain(value: str, at: Path) -> Iterator[Fault]:
    """A DNS subdomain, such as the name of most objects."""
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
    if not value:
        yield missing(at)
        return
    if len(value) > DOMAIN_MAX:
        yield too_long(at, DOMAIN_MAX)
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
    elif len(name) > LABEL_NAME_MAX:
        yield invalid(at, value, f"name part must be no more than {LABEL_NAME_MAX} bytes")
    if not LABEL_NAME.fullmatch(name):
        yield invalid(at, value, IS_KEY)


def check_label_value(value: str, at: Path) -> Iterator[Fault]:
    """The value of a label or taint."""
    if len(value) > LABEL_NAME_MAX:
        yield invalid(at, value, f"must be no more than {LABEL_NAME_MAX} bytes")
    if value and not LABEL_NAME.fullmatch(value):
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
    if len(value) > STRING_MAX:
        yield too_long(at, STRING_MAX)
