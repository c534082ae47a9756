"""The configuration of dhcp, read into what a client says and asks for.

Promise: the keys of the reference program, with its names of options. Limit: pure.
"""

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from netclaim.cni import CniArgs, Endpoint
from netclaim.dhcp.message import OPTION_MAX, Option
from netclaim.plugins.engine.conf import U32, Conf
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import KeyRule

NAMED: Final[Mapping[str, int]] = {
    "dhcp-client-identifier": Option.CLIENT_ID,
    "subnet-mask": Option.SUBNET_MASK,
    "routers": Option.ROUTERS,
    "host-name": 12,
    "user-class": 77,
    "vendor-class-identifier": 60,
}
"""The names that the reference program knows; others are numbers."""
# What is asked for without a word: what the reference program does, and what goes with it.
DEFAULT: Final = (
    Option.SUBNET_MASK,
    Option.CLASSLESS_ROUTES,  # before the routers, whose place it takes (RFC 3442)
    Option.ROUTERS,
    Option.STATIC_ROUTES,
    Option.NAME_SERVERS,
    Option.DOMAIN,
    Option.SEARCH,
)
NEEDED: Final = (Option.LEASE_S, Option.SERVER, Option.RENEWAL_S, Option.REBINDING_S)
# The protocol's own: who says something else in them speaks another protocol.
RESERVED: Final = frozenset(
    {
        Option.PAD,
        Option.REQUESTED_ADDRESS,
        Option.OVERLOAD,
        Option.KIND,
        Option.SERVER,
        Option.REQUESTS,
        Option.SIZE_MAX,
        Option.END,
    }
)
PROVIDED_MAX: Final = 8  # options of a configuration; each may have 255 bytes of a message's 1,500
REQUESTED_MAX: Final = 64
RFC_4361: Final = b"\xff"  # a client id made of the interface's number and a DUID
DUID_UUID: Final = b"\0\4"  # RFC 6355
UUID_BYTES: Final = 16
POD_UID: Final = "K8S_POD_UID"
WANTED_IP: Final = "IP"


def read_option(written: str) -> int:
    """Return the number of an option; ConfError if it is none that can be asked for or given."""
    number = NAMED.get(written)
    if number is None and written.isdecimal() and len(written) <= len(str(Option.END)):
        number = int(written)
    if number is None:
        raise ConfError(f"{written!r} is no option: write its number, or {', '.join(NAMED)}")
    if number in RESERVED or number > Option.END:
        raise ConfError(f"the option {written} belongs to the protocol itself")
    return number


class ProvideConf(Conf, frozen=True):
    """An option that the client sends."""

    option: Annotated[
        str,
        KeyRule("a number, or a name", check=read_option, missing="for example host-name"),
    ] = ""
    value: Annotated[str, KeyRule("its text")] = ""
    from_arg: Annotated[str, KeyRule("the CNI argument that has its text")] = ""


class RequestConf(Conf, frozen=True):
    """An option that the client asks for."""

    skip_default: Annotated[bool, KeyRule("ask for nothing that is not listed")] = False
    option: Annotated[str, KeyRule("a number, or a name", check=read_option)] = ""


class IpamKeys(Conf, frozen=True):
    """What stands under `ipam`."""

    unused = ("daemonSocketPath",)

    request: Annotated[
        tuple[RequestConf, ...], KeyRule("further options to ask for, such as skipDefault")
    ] = ()
    provide: Annotated[
        tuple[ProvideConf, ...], KeyRule("options to send, such as the host's name")
    ] = ()
    priority: Annotated[U32, KeyRule("the metric of the routes that the server gives")] = 0

    def refuse(self) -> None:
        """Raise where there are more options than a message has room for."""
        for key, listed, most in (
            ("provide", self.provide, PROVIDED_MAX),
            ("request", self.request, REQUESTED_MAX),
        ):
            if len(listed) > most:
                raise ConfError(
                    f"has {len(listed)} options, and may have {most}", path=("ipam", key)
                )


class DhcpConf(Conf, frozen=True):
    """The configuration as it is written."""

    name: str = ""
    type: str = ""
    mode: str = ""
    ipam: IpamKeys = IpamKeys()


def wanted(request: Sequence[RequestConf]) -> tuple[int, ...]:
    """Return the options to ask for."""
    default: tuple[int, ...] = () if any(each.skip_default for each in request) else DEFAULT
    listed = [read_option(each.option) for each in request if each.option]
    return tuple(dict.fromkeys([Option.SUBNET_MASK, *default, *listed, *NEEDED]))


def provided(provide: Sequence[ProvideConf], args: CniArgs) -> dict[int, bytes]:
    """Return the options to send, as far as there is something to say."""
    said = dict(args)
    found: dict[int, bytes] = {}
    for each in provide:
        text = (said.get(each.from_arg) or each.value).encode()
        if len(text) > OPTION_MAX:
            raise ConfError(
                f"the value of the option {each.option} has more than {OPTION_MAX} bytes"
            )
        if text:
            found[read_option(each.option)] = text
    return found


def client_id(endpoint: Endpoint) -> bytes:
    """Return what tells this client from all others, and is the same in a pod's next sandbox.

    A pod's UID and the interface's name are it; a runtime that names no pod has its container's id.
    """
    args = dict(endpoint.args)
    owner = args.get(POD_UID) or endpoint.container_id
    number = zlib.crc32(endpoint.ifname.encode()).to_bytes(4, "big")
    unique = hashlib.sha256(f"netclaim/{owner}".encode()).digest()[:UUID_BYTES]
    return RFC_4361 + number + DUID_UUID + unique
