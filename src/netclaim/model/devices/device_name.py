"""Which names the API allows for what a driver offers, and the error for others. No I/O."""

import re
from typing import Final

from netclaim.errors import NetclaimError
from netclaim.model.api.limits import DOMAIN_MAX, IDENTIFIER_MAX, LABEL_NAME_MAX, SUBDOMAIN_MAX

DNS_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
DNS_SUBDOMAIN: Final = re.compile(rf"{DNS_LABEL.pattern}(?:\.{DNS_LABEL.pattern})*", re.ASCII)
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
LABEL_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?", re.ASCII)


class DeviceError(NetclaimError, ValueError):
    """A device that the API would refuse; the driver's author must act."""


def is_dns_label(text: str) -> bool:
    """Whether the text may name a device, a set of counters or a counter."""
    return DNS_LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether the text may name an object, as most kinds have it."""
    return len(text) <= SUBDOMAIN_MAX and DNS_SUBDOMAIN.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """Whether the text may be the key of a label, as taints and conditions are named."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= SUBDOMAIN_MAX and DNS_SUBDOMAIN.fullmatch(prefix)):
        return False
    return len(name) <= LABEL_NAME_MAX and LABEL_NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether the text may be the value of a label, which may be empty."""
    return not text or (len(text) <= LABEL_NAME_MAX and LABEL_NAME.fullmatch(text) is not None)


def qualified_name_fault(text: str) -> str:
    """Why the text cannot name an attribute or a capacity; an empty text if it can."""
    domain, slash, identifier = text.rpartition("/")
    if not IDENTIFIER.fullmatch(identifier) or len(identifier) > IDENTIFIER_MAX:
        return f"{identifier!r} is not a C identifier of at most {IDENTIFIER_MAX} bytes"
    if slash and not (len(domain) <= DOMAIN_MAX and DNS_SUBDOMAIN.fullmatch(domain)):
        return f"{domain!r} is not a domain of at most {DOMAIN_MAX} bytes"
    return ""
