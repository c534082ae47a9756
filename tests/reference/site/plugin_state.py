"""What plugins leave behind, told by `ip`, `bridge`, nftables and the disk, in a form to compare.

Random names and MACs are replaced by the link they belong to, so that two runs of the same thing
look the same. What the kernel does in its own time (link-local addresses, carrier) is left out.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netclaim.kernel import call_in, open_netns
from netclaim.kernel.host import nftables
from netclaim.kernel.host.sysctls.sysctl import SysctlError, read_sysctl
from tests.reference.site.cni_site import run

SYSCTLS = {
    "ipv4": ("arp_notify",),
    "ipv6": (
        *("accept_dad", "accept_ra", "disable_ipv6", "enhanced_dad"),
        *("keep_addr_on_down", "ndisc_notify"),
    ),
}
FORWARDING = ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding")
# Of each kind, the settings that a plugin can make.
KIND_DATA = (
    *("mode", "bcqueuelen", "vlan_filtering", "stp_state", "type", "pi", "vnet_hdr"),
    *("multi_queue", "persist", "user", "group", "id", "protocol"),
)
PORT_DATA = ("hairpin", "isolated", "state", "learning", "guard")
RANDOM_NAME = re.compile(r"^veth[0-9a-f]{8}$")
RANDOM_MAC = re.compile(r"\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b")

State = dict[str, Any]


def namespace_state(name: str) -> State:
    """Return all that is in a namespace."""
    links = {link["ifname"]: link for link in _ip(name, "-details", "link", "show")}
    return {
        "links": {ifname: _link(link) for ifname, link in links.items() if ifname != "lo"},
        "addresses": {link["ifname"]: _addresses(link) for link in _ip(name, "address", "show")},
        "routes": _routes(name),
        "neighbours": _ip(name, "neigh", "show", "nud", "permanent"),
        "sysctls": _inside(name, lambda: _sysctls([*links, "lo"])),
        "vlans": json.loads(run("bridge", "-n", name, "-json", "vlan", "show") or "[]"),
        "rules": _inside(name, _rules),
        "order": [ifname for ifname in links if RANDOM_NAME.match(ifname)],
        "macs": {ifname: link.get("address", "") for ifname, link in links.items()},
    }


def store_state(directory: Path) -> State:
    """Return every file under a directory, with its content and permissions.

    A store that holds nothing but its lock is as none: the reference makes one on every DEL.
    """
    return {
        str(path.relative_to(directory)): (path.read_bytes().decode(), oct(path.stat().st_mode))
        for path in sorted(directory.rglob("*"))
        if path.is_file() and [one.name for one in path.parent.iterdir()] != ["lock"]
    }


def comparable(seen: Any, states: list[State], names: dict[str, str]) -> Any:
    """Replace what is random in `seen`: names and MACs of links in `states`, and `names`."""
    text = json.dumps(seen, sort_keys=True)
    for state in states:
        for number, ifname in enumerate(state["order"]):
            names = names | {ifname: f"<random link {number}>"}
        for ifname, mac in state["macs"].items():
            if not mac.startswith(("00:", "02:00:00:00:")):  # those of a test's own choice stay
                text = text.replace(mac, f"<mac of {names.get(ifname, ifname)}>")
    for name, label in names.items():
        text = text.replace(name, label)
    return json.loads(RANDOM_MAC.sub(_known_mac, text))


def _known_mac(match: re.Match[str]) -> str:
    mac = match.group()
    return mac if mac.startswith(("00:", "02:00:00:00:", "ff:")) else "<mac of nobody>"


def _ip(name: str, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("ip", "-n", name, "-json", *arguments) or "[]")
    return found


def _link(link: dict[str, Any]) -> State:
    info = link.get("linkinfo", {})
    data, port = info.get("info_data", {}), info.get("info_slave_data", {})
    return {
        "up": "UP" in link["flags"],
        "promiscuous": "PROMISC" in link["flags"],
        "kind": info.get("info_kind"),
        "data": {key: data[key] for key in KIND_DATA if key in data},
        "port": {key: port[key] for key in PORT_DATA if key in port},
        **{key: link.get(key) for key in ("address", "mtu", "txqlen", "master", "ifalias")},
        "queues": link.get("num_tx_queues"),
    }


def _addresses(link: dict[str, Any]) -> list[State]:
    kept = ("local", "prefixlen", "broadcast", "scope", "address", "nodad", "label")
    return [
        {key: address[key] for key in kept if key in address}
        for address in link["addr_info"]
        if not address["local"].startswith("fe80")
    ]


def _routes(name: str) -> list[str]:
    """Return all routes but those that come with every address or link."""
    kept = []
    for family in ("-4", "-6"):
        for route in _ip(name, family, "route", "show", "table", "all"):
            by_itself = route.get("type") in {"local", "broadcast", "anycast", "multicast"}
            if not by_itself and not route["dst"].startswith(("fe80", "ff00")):
                route.pop("flags", None)
                kept.append(json.dumps(route, sort_keys=True))
    return sorted(kept)


def _inside(name: str, action: Callable[[], Any]) -> Any:
    with open_netns(f"/run/netns/{name}") as netns:
        return call_in(netns, action)


def _sysctls(ifnames: list[str]) -> State:
    found: State = {name: read_sysctl(name) for name in FORWARDING}
    for ifname in ifnames:
        for family, settings in SYSCTLS.items():
            for setting in settings:
                name = f"net/{family}/conf/{ifname}/{setting}"
                try:
                    found[name] = read_sysctl(name)
                except SysctlError:
                    found[name] = "absent"
    return found


def _rules() -> list[Any]:
    """Return nftables' rules, without the handles and comments that only people read."""
    listed = json.loads(nftables.run("list ruleset", output_flags=nftables.OUTPUT_JSON))
    rules = []
    for item in listed["nftables"]:
        for kind, what in item.items():
            if kind != "metainfo":
                unread = {"handle"} | ({"comment"} if kind != "rule" else set())
                rules.append({kind: {key: what[key] for key in what if key not in unread}})
    return rules


def differences(reference: Any, ours: Any, where: str = "") -> list[str]:
    """List where two states differ, each with both values."""
    if isinstance(reference, dict) and isinstance(ours, dict):
        keys = sorted(reference.keys() | ours.keys())
        pairs = [(f"{where}/{key}", reference.get(key), ours.get(key)) for key in keys]
    elif isinstance(reference, list) and isinstance(ours, list) and len(reference) == len(ours):
        pairs = [
            (f"{where}/{n}", *both) for n, both in enumerate(zip(reference, ours, strict=True))
        ]
    else:
        return [] if reference == ours else [f"{where}: reference {reference!r}, ours {ours!r}"]
    return [line for path, one, two in pairs for line in differences(one, two, path)]
