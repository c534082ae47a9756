"""Rewrite what selects dranet's devices: expressions, and constraints on attributes.

Promise: an attribute that netclaim does not have, or has with other values, is given to `lost` with
what to do, and the text keeps it. No I/O.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from netclaim.manifests.near import did_you_mean
from netclaim.network import DRIVER_NAME

DRANET: Final = "dra.net"  # the driver, and the domain of its attributes
SAME: Final = (
    "name", "ifName", "pciAddress", "mac", "numaNode", "mtu", "alias", "state", "sriov",
    "sriovVfs", "isSriovVf", "virtual", "rdma", "rdmaDevice",
)  # fmt: skip
RENAMED: Final[Mapping[str, str]] = {"type": "kind"}
# Attributes that netclaim does not have, or has with other values, and what to do.
DIFFERENT: Final[Mapping[str, str]] = {
    "ipv4": "netclaim's value has a prefix length, such as 10.0.0.5/24; rewrite the selector",
    "ipv6": "netclaim's value has a prefix length, such as fd00::5/64; rewrite the selector",
    "encapsulation": "select by type, which is ethernet, infiniband or other",
    "pciVendor": "netclaim's value is the ID, such as 0x15b3; rewrite the selector",
    "pciDevice": "netclaim's value is the ID, such as 0x101d; rewrite the selector",
    "pciSubsystem": "netclaim has no such attribute; select by pciDevice",
    "ebpf": "netclaim has no such attribute; leave the selector out",
    "tcFilterNames": "netclaim has no such attribute; leave the selector out",
    "tcxProgramNames": "netclaim has no such attribute; leave the selector out",
}
_DRIVER: Final = re.compile(r"""(device\.driver\s*==\s*)(["'])dra\.net\2""")
_ATTRIBUTE: Final = re.compile(
    r"""(device\.attributes\[\s*)(["'])dra\.net\2(\s*\]\s*)(\.\??|\[\s*["'])(\w+)"""
)
_LEFT: Final = re.compile(r"""["'](?:[\w-]+\.)*dra\.net["'/]""")

Lost = Callable[[str], None]


def names_driver(text: str) -> bool:
    """Whether a text names dranet's driver, or an attribute of its domain."""
    return text == DRANET or text.startswith(f"{DRANET}/") or bool(_LEFT.search(text))


def expression(text: str, lost: Lost) -> str:
    """Return an expression that selects the same devices of netclaim's."""
    said: list[str] = []

    def renamed(found: re.Match[str]) -> str:
        before, quote, between, access, name = found.groups()
        ours = _attribute(name, said.append)
        domain = DRIVER_NAME if ours else DRANET
        return f"{before}{quote}{domain}{quote}{between}{access}{ours or name}"

    changed = _ATTRIBUTE.sub(renamed, _DRIVER.sub(rf"\g<1>\g<2>{DRIVER_NAME}\g<2>", text))
    if _LEFT.search(changed) and not said:
        said.append("names dra.net in a way that is not recognized; rewrite it")
    for text_lost in said:
        lost(text_lost)
    return changed


def constraint(text: str, lost: Lost) -> str:
    """Return the attribute that a constraint is about, by netclaim's name."""
    domain, _, name = text.partition("/")
    if domain != DRANET:
        return text
    ours = _attribute(name, lost)
    return f"{DRIVER_NAME}/{ours}" if ours else text


def _attribute(name: str, lost: Lost) -> str:
    """Return what netclaim calls an attribute; empty if it has none."""
    ours = RENAMED.get(name) or (name if name in SAME else "")
    if not ours:
        known = (*SAME, *RENAMED)
        text = DIFFERENT.get(name) or f"netclaim has none{did_you_mean(name, known)}"
        lost(f"the attribute {name}: {text}")
    return ours
