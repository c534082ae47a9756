"""Read plugin configuration as the reference plugins do.

Promise: keys are found in whatever case they are written and null means absent, as in Go; a value
of the wrong type is a PluginError that names the key. Unknown keys are passed over. Where Go would
take the last of two spellings of a key, whichever that is, both are refused.
Limit: only reads. What a plugin's own keys mean, its module says.
"""

import ipaddress
from collections.abc import Collection
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, TypeVar

import msgspec

from netclaim.cni import DNS, CniArgs
from netclaim.cni.key_case import fold, same_keys
from netclaim.kernel.requests.ip import Interface, IpAddress
from netclaim.plugins.engine.errors import ConfError

KEPT: Final = 1024  # addresses; the same ones pass by many times in a call, and in the next

U32 = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]  # numbers of the kernel's messages
Mtu = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 32)]  # from 0 down: the kernel chooses

MTU_MAX: Final = 65535  # of every kind of link that a plugin makes
VLAN_ID_MAX: Final = 4094  # 802.1Q keeps 4095 for itself

DEPTH_MAX: Final = 50  # objects in objects; plugins know of five, the interpreter of a thousand
NESTED: Final = (dict, list)  # what JSON has inside of other things
# Its keys are settings, not configuration: they have the names of links, whose case counts.
AS_WRITTEN: Final = "sysctl"

MAPPED_BITS: Final = 96  # before an IPv4 address in an IPv6 one
TRUTH: Final = {"1": True, "true": True, "0": False, "false": False}

C = TypeVar("C", bound="Conf")


def _wire_name(field: str) -> str:
    """Name a field as `lowered` leaves its key: `is_gateway` is isGateway, and so isgateway."""
    return field.replace("_", "")


class Conf(msgspec.Struct, frozen=True, rename=_wire_name):
    """An object of a configuration; its fields are the keys, and `KeyRule`s say more of them."""

    unused: ClassVar[tuple[str, ...]] = ()  # further keys that the reference plugin takes in vain

    def refuse(self) -> None:
        """Raise ConfError where keys that are sound each by itself contradict each other."""


class IpamConf(Conf, frozen=True):
    """What a plugin knows of its address management: who does it."""

    type: str = ""


class NetConf(Conf, frozen=True):
    """The keys of every plugin's configuration."""

    name: str = ""
    type: str = ""
    ipam: IpamConf = IpamConf()
    dns: DNS = DNS()


def lowered(value: Any, depth: int = DEPTH_MAX) -> Any:
    """Return decoded JSON with all keys folded (`isgateway`), and without what is null.

    An object with two spellings of a key is refused, also where one of them is null.
    """
    if depth == 0:
        raise ConfError("the configuration is nested too deeply")
    if isinstance(value, dict):
        # Most keys are ASCII; a function called for each would take longer than all the rest.
        folded = {key.lower() if key.isascii() else fold(key): value[key] for key in value}
        if len(folded) < len(value):
            raise _two_spellings(value)
        return {
            key: lowered(item, depth - 1)
            if isinstance(item, NESTED) and key != AS_WRITTEN
            else item
            for key, item in folded.items()
            if item is not None
        }
    if isinstance(value, list):
        return [lowered(item, depth - 1) for item in value if item is not None]
    return value


def _two_spellings(raw: dict[str, Any]) -> ConfError:
    both = same_keys(raw)
    assert both is not None, "the caller has counted them"
    return ConfError(f"the keys {both[0]!a} and {both[1]!a} are the same one; remove one of them")


def read_conf(raw: object, kind: type[C]) -> C:
    """Read a configuration that went through `lowered`."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise ConfError(f"the configuration cannot be read: {error}") from error


def read_args(args: CniArgs, known: Collection[str]) -> dict[str, str]:
    """Pick the arguments that a plugin knows out of CNI_ARGS.

    Others are an error, unless IgnoreUnknown is among the arguments.
    """
    said = dict(args)
    ignore = said.pop("IgnoreUnknown", "0")
    if ignore.lower() not in TRUTH:
        raise ConfError(f"CNI_ARGS: IgnoreUnknown must be 1 or 0, not {ignore!r}")
    unknown = said.keys() - set(known)
    if unknown and not TRUTH[ignore.lower()]:
        raise ConfError(f"CNI_ARGS: unknown arguments {', '.join(sorted(unknown))}")
    return {key: value for key, value in said.items() if key in known}


@lru_cache(maxsize=KEPT)
def read_ip(written: str) -> IpAddress:
    """Read an address; an IPv4-mapped IPv6 address becomes the IPv4 address."""
    if "%" not in written:
        try:
            address = ipaddress.ip_address(written)
        except ValueError:
            pass
        else:
            return getattr(address, "ipv4_mapped", None) or address
    raise ConfError(f"{written!r} is not an IP address")


@lru_cache(maxsize=KEPT)
def read_cidr(written: str) -> Interface:
    """Read an address with its prefix length; an IPv4-mapped one becomes IPv4."""
    address, slash, prefix = written.partition("/")
    if slash and prefix.isdecimal() and "%" not in address:
        try:
            interface = ipaddress.ip_interface(written)
            mapped = getattr(interface, "ipv4_mapped", None)
            if mapped is None:
                return interface
            return ipaddress.ip_interface((mapped, interface.network.prefixlen - MAPPED_BITS))
        except ValueError:
            pass
    raise ConfError(f"{written!r} is not an address in CIDR notation")
