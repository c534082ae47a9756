"""The MAC address that a link shall have, of the several places where it can be asked for.

Promise: a MAC comes out in the kernel's form, or a PluginError that quotes what was written.
Limit: six, eight or twenty bytes, the last being InfiniBand's; whether a link takes them, the
kernel says.
"""

import re
from typing import Annotated, Final

from netclaim.cni import Endpoint
from netclaim.plugins.engine.conf import Conf, read_args
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import KeyRule

LENGTHS: Final = (6, 8, 20)  # bytes
BYTE: Final = "[0-9a-fA-F]{2}"
FORMS: Final = re.compile(
    "|".join(
        rf"{BYTE}(:{BYTE}){{{length - 1}}}|{BYTE}(-{BYTE}){{{length - 1}}}"
        rf"|{BYTE * 2}(\.{BYTE * 2}){{{length // 2 - 1}}}"
        for length in LENGTHS
    )
)


GROUP: Final = 0x01  # of the first byte: several interfaces are meant, or all


class MacOffer(Conf, frozen=True):
    """An object that may hold a MAC: what the runtime offers by capability, or `args.cni`."""

    mac: Annotated[str, KeyRule("the interface's MAC")] = ""


def mac_of_args(endpoint: Endpoint) -> str:
    """Return the MAC that CNI_ARGS asks for; others are refused, unless IgnoreUnknown is set."""
    return read_args(endpoint.args, {"MAC"}).get("MAC", "")


def check_mac(written: str) -> None:
    """Refuse what is no MAC, or none that an Ethernet link takes: of a group, or all zeros."""
    octets = bytes.fromhex(chosen_mac(written).replace(":", ""))
    if len(octets) == LENGTHS[0] and (octets[0] & GROUP or not any(octets)):
        raise ConfError(f"{written!r} is not the address of one interface")


def chosen_mac(*written: str) -> str:
    """Return the last MAC that is written, in the kernel's form; empty: the kernel shall choose."""
    said = next((mac for mac in reversed(written) if mac), "")
    if not said:
        return ""
    if not FORMS.fullmatch(said):
        raise ConfError(f"{said!r} is not a MAC address")
    digits = re.sub(r"[:.-]", "", said).lower()
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))
