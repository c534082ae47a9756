"""What was said of the network driver's settings, made into values. No I/O.

Each reader takes what a flag, a variable or the file says (text, number, list of texts) and returns
the field's value, or raises RequestError, which says what to write instead.
"""

import ipaddress
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from netclaim.cni.conflist import PLAIN_NAME
from netclaim.errors import RequestError
from netclaim.framework.settings import subdomain
from netclaim.kernel.requests.ip import Network
from netclaim.model.api.limits import DOMAIN_MAX
from netclaim.network.settings.per_link import PATTERN
from netclaim.plugins import PLUGIN_TYPES

if TYPE_CHECKING:
    from netclaim.network.devices.expression import LinkExpression

ALL: Final = "all"


def read_driver_name(value: str) -> str:
    """The name that a driver goes by."""
    return subdomain(value, DOMAIN_MAX)


def read_plugin_types(values: Iterable[str]) -> tuple[str, ...]:
    """Plugin types that run in process; `all` for each of them."""
    listed = tuple(values)
    if listed == (ALL,):
        return tuple(sorted(PLUGIN_TYPES))
    if unknown := [name for name in listed if name not in PLUGIN_TYPES]:
        known = ", ".join(sorted(PLUGIN_TYPES))
        raise RequestError(f"{unknown[0]} is not a type that runs in process; those are {known}")
    return listed


def read_networks(values: Iterable[str]) -> tuple[Network, ...]:
    """Read networks in CIDR notation, for example 10.0.0.0/8; raises RequestError."""
    try:
        return tuple(map(ipaddress.ip_network, values))
    except ValueError as error:
        raise RequestError(str(error)) from error


def read_link_patterns(values: Iterable[str]) -> tuple[str, ...]:
    """Names of links or patterns of them, each of which could be for some link."""
    patterns = tuple(values)
    for each in patterns:
        if not PATTERN.fullmatch(each):
            raise RequestError(
                f"{each!r} is not the name of a link, such as eth1 or ens*; give each link by "
                f"itself"
            )
    return patterns


def seconds_or_0(value: float) -> float:
    """A time, or 0 for none."""
    if not 0 <= value < math.inf:
        raise RequestError("must be a number of seconds, or 0")
    return float(value)


def read_claim_plugins(values: Iterable[str]) -> frozenset[str]:
    """Plugin types that are programs."""
    types = frozenset(values)
    for name in sorted(types):
        if not PLAIN_NAME.fullmatch(name):
            raise RequestError(f"{name!r} is not a plugin type; for example sriov")
        if name in PLUGIN_TYPES:
            raise RequestError(
                f"{name} is one of the driver's own types, which the policy's table covers; "
                f"list other types only"
            )
    return types


def read_link_expression(text: str) -> "LinkExpression | None":
    """An expression about links; None: none."""
    if not text.strip():
        return None
    # Only for those who have one: evaluating CEL takes 2 MB and a tenth of the driver's start.
    from netclaim.network.devices.expression import link_expression  # noqa: PLC0415

    return link_expression(text)
