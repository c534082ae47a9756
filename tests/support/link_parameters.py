"""Claims that set parameters beside a network, and independent looks at what became of a link."""

import array
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from netclaim.kernel import Netns, Rtnl, call_in
from netclaim.kernel.host.netns import socket_in
from netclaim.kernel.state.card.card_settings import read_card
from netclaim.model import Claim
from tests.support.kernel_support import ip_json, name_of
from tests.support.network_parts import TYPED, claim_of, config_of, device_of

SIOCETHTOOL = 0x8946
SEGMENTATION, RECEIVE = 0x1E, 0x2B  # ETHTOOL_GTSO, ETHTOOL_GGRO: one switch each, as of old
WHOLE = {"type": "host-device"}


def claim_with(
    parameters: dict[str, Any],
    *plugins: dict[str, Any],
    device: str = "eth1",
    ifname: str = "net1",
    uid: str = "claim-1",
    labels: dict[str, str] | None = None,
) -> Claim:
    """A claim that takes a link into the pod, or makes what `plugins` say, with parameters."""
    network = {"cniVersion": "1.0.0", "name": "a-network", "plugins": list(plugins) or [WHOLE]}
    written = TYPED | {"ifName": ifname, "config": network} | parameters
    return claim_written(written, device=device, uid=uid, labels=labels)


def claim_written(
    parameters: dict[str, Any],
    *,
    device: str = "eth1",
    uid: str = "claim-1",
    labels: dict[str, str] | None = None,
) -> Claim:
    """A claim with just these parameters."""
    made = claim_of(config_of(parameters, "net"), devices=(device_of("net", device),))
    return Claim(
        uid=uid,
        namespace=made.namespace,
        name=f"name-of-{uid}",
        allocated=True,
        devices=made.devices,
        configs=made.configs,
        namespace_labels=labels or {},
    )


def static(*addresses: str) -> dict[str, Any]:
    """A whole link with addresses that are written down."""
    listed = [{"address": each} for each in addresses]
    return WHOLE | {"ipam": {"type": "static", "addresses": listed}}


def switched(netns: Netns, link: str, question: int) -> bool:
    """Whether one of the old switches of a card is on."""
    asked = array.array("B", struct.pack("=II", question, 0))
    with socket_in(netns, socket.AF_INET, socket.SOCK_DGRAM, 0) as sock:
        address, _ = asked.buffer_info()
        fcntl.ioctl(sock, SIOCETHTOOL, struct.pack("=16sQ16x", link.encode(), address))
    return bool(struct.unpack("=II", asked.tobytes())[1])


def rules(netns: Netns, *options: str) -> list[dict[str, Any]]:
    """The rules of a namespace, without the three that the kernel makes."""
    command = ["ip", "-n", name_of(netns), *options, "-json", "rule", "show"]
    answer = subprocess.run(command, check=True, capture_output=True).stdout
    found: list[dict[str, Any]] = json.loads(answer)
    return [each for each in found if each["table"] not in {"local", "main", "default"}]


def neighbours(netns: Netns) -> list[tuple[str, str]]:
    """The permanent neighbours of a namespace."""
    found = ip_json(netns, "neighbor", "show", "nud", "permanent")
    return sorted((each["dst"], each["lladdr"]) for each in found)


def routes(netns: Netns, *which: str) -> list[tuple[str, str]]:
    """The routes that somebody entered, each with its gateway."""
    found = ip_json(netns, *which, "route", "show", "table", "all")
    entered = [each for each in found if each.get("protocol") not in {"kernel", "ra"}]
    return sorted((each["dst"], each.get("gateway", "")) for each in entered)


def card_of(netns: Netns, link: str) -> dict[str, Any]:
    """All that a namespace has on a link, for comparison."""
    (shown,) = ip_json(netns, "address", "show", "dev", link)
    volatile = {"ifindex", "operstate", "flags", "linkmode", "link_index", "addr_info", "link"}
    with Rtnl.open(netns) as rtnl:
        settings = read_card(rtnl, link)
    return {
        "link": {key: value for key, value in shown.items() if key not in volatile},
        "addresses": sorted(each["local"] for each in shown["addr_info"]),
        "card": settings,
        "routes": routes(netns, "-4"),
    }


PASS_ALL = struct.pack("=BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0)  # return 2: XDP_PASS, or dropped
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
PROG_LOAD, PROG_ATTACH, PROG_QUERY, LINK_CREATE = 5, 8, 16, 28
SCHED_CLS, XDP = 3, 6  # kinds of program
AT_XDP, AT_TCX_INGRESS = 37, 46  # places
GENERIC = 1 << 1  # XDP in the kernel, whatever the card


@contextmanager
def programs_on(netns: Netns, link: str, *, held: bool = False) -> Iterator[None]:
    """An XDP and a TCX program that see a link's packets; `held` by BPF links, or by the link."""
    descriptors = call_in(netns, lambda: _attach(socket.if_nametoindex(link), held=held))
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def programs_of(netns: Netns, link: str) -> list[str]:
    """The kinds of program that see a link's packets."""
    (shown,) = ip_json(netns, "link", "show", link)
    index = shown["ifindex"]
    question = struct.pack("=IIIIQIIQQQQ", index, AT_TCX_INGRESS, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    buffer = ctypes.create_string_buffer(question, len(question))
    call_in(netns, lambda: _bpf(PROG_QUERY, buffer))
    count = struct.unpack_from("=I", buffer, 24)[0]
    return [*(["xdp"] if "xdp" in shown else []), *(["tcx"] * count)]


def _attach(index: int, *, held: bool) -> list[int]:
    xdp, tcx = _loaded(XDP), _loaded(SCHED_CLS)
    if held:
        made = [
            _bpf(LINK_CREATE, _buffer("=IIII", xdp, index, AT_XDP, GENERIC)),
            _bpf(LINK_CREATE, _buffer("=IIII32x", tcx, index, AT_TCX_INGRESS, 0)),
        ]
    else:
        _bpf(PROG_ATTACH, _buffer("=IIIIIIQ", index, tcx, AT_TCX_INGRESS, 0, 0, 0, 0))
        made = []
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as rtnl:
            inner = struct.pack("=HHiHHI", 8, 1, xdp, 8, 3, GENERIC)  # IFLA_XDP_FD, IFLA_XDP_FLAGS
            nested = struct.pack("=HH", 4 + len(inner), 43 | 1 << 15) + inner  # IFLA_XDP
            fixed = struct.pack("=BxHiII", 0, 0, index, 0, 0)
            length = 16 + len(fixed) + len(nested)
            rtnl.send(struct.pack("=IHHII", length, 19, 5, 1, 0) + fixed + nested)  # RTM_SETLINK
            assert struct.unpack_from("=i", rtnl.recv(4096), 16) == (0,)
    return [*made, xdp, tcx]


def _loaded(kind: int) -> int:
    """Load a program that lets everything pass, or nothing; returns its descriptor."""
    code, terms = ctypes.create_string_buffer(PASS_ALL), ctypes.create_string_buffer(b"GPL")
    where = ctypes.addressof(code), ctypes.addressof(terms)
    return _bpf(PROG_LOAD, _buffer("=IIQQIIQII", kind, 2, *where, 0, 0, 0, 0, 0))


def _buffer(layout: str, *values: int) -> "ctypes.Array[ctypes.c_char]":
    packed = struct.pack(layout, *values)
    return ctypes.create_string_buffer(packed, len(packed))


def _bpf(command: int, question: "ctypes.Array[ctypes.c_char]") -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    answer: int = libc.syscall(SYS_BPF, command, question, len(question))
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"bpf {command}: {os.strerror(ctypes.get_errno())}")
    return answer
