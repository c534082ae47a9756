"""What a chain leaves in a namespace, as `ip` and `tc` tell it, in a form to compare.

Everything that they tell is kept but for what differs by itself: numbers, counters, and what the
kernel does in its own time. One `ip` is asked several things, since an emulated machine takes
longer to start it than it takes to answer.
"""

import json
import subprocess
from typing import Any

from netclaim.kernel import call_in, open_netns
from netclaim.kernel.host.sysctls.sysctl import SysctlError, read_sysctl
from tests.reference.site.cni_site import run
from tests.reference.site.plugin_state import RANDOM_NAME, State

NAMED_BY_CHANCE = {"ifindex", "link_index", "link_netnsid", "operstate"}
IN_ITS_OWN_TIME = {"LOWER_UP", "NO-CARRIER", "M-DOWN"}  # flags
OF_ITSELF = {"local", "broadcast", "anycast", "multicast"}  # routes that come with an address
# Settings of a bridge and of its ports that plugins make; the rest is mostly timers.
OF_BRIDGES = ("vlan_filtering", "stp_state", "hairpin", "isolated", "state")
SYSCTLS = (
    *("ipv4/conf/{}/arp_filter", "ipv4/conf/{}/arp_notify"),
    *("ipv6/conf/{}/accept_ra", "ipv6/conf/{}/disable_ipv6"),
    *("ipv6/conf/{}/keep_addr_on_down", "ipv6/conf/{}/ndisc_notify", "core/somaxconn"),
)


def link_state(name: str) -> State:
    """Return the links of a namespace with all that is on them."""
    links, addresses, routes, neighbours = _ip(
        name, "link show", "address show", "route show table all", "neigh show nud permanent"
    )
    ifnames = [link["ifname"] for link in links]
    with open_netns(f"/run/netns/{name}") as netns:
        sysctls = call_in(
            netns, lambda: [_sysctl(ifname, each) for ifname in ifnames for each in SYSCTLS]
        )
    return {
        "links": {link["ifname"]: _link(link) for link in links},
        "addresses": {link["ifname"]: _addresses(link) for link in addresses},
        "routes": sorted(json.dumps(route, sort_keys=True) for route in filter(_is_made, routes)),
        "neighbours": neighbours,
        "vlans": _port_vlans(name) if any(map(_is_port, links)) else [],
        "sysctls": sysctls,
        "order": [ifname for ifname in ifnames if RANDOM_NAME.match(ifname)],
        "macs": {link["ifname"]: link.get("address", "") for link in links},
    }


def traffic_state(name: str) -> State:
    """Return what decides how packets go: queues, filters and rules."""
    queues = json.loads(run("tc", "-n", name, "-json", "qdisc", "show"))
    watched = [queue["dev"] for queue in queues if queue["kind"] == "ingress"]
    families = ("-4", "-6")
    return {
        "queues": sorted(queues, key=lambda queue: (queue["dev"], queue["kind"])),
        "filters": [found for ifname in watched for found in _filters(name, ifname)],
        "rules": [json.loads(run("ip", "-n", name, "-json", each, "rule")) for each in families],
    }


def _ip(name: str, *commands: str) -> list[list[State]]:
    program = ["ip", "-n", name, "-json", "-details", "-batch", "-"]
    asked = "\n".join(commands)
    done = subprocess.run(program, input=asked, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _link(link: State) -> State:
    kept = {key: value for key, value in link.items() if key not in NAMED_BY_CHANCE}
    kept["flags"] = sorted(set(link["flags"]) - IN_ITS_OWN_TIME)
    info = link.get("linkinfo", {})
    if "bridge" in {info.get("info_kind"), info.get("info_slave_kind")}:
        data = info.get("info_data", {}) | info.get("info_slave_data", {})
        kept["linkinfo"] = {"info_kind": info.get("info_kind")} | {
            key: data.get(key) for key in OF_BRIDGES
        }
    return kept


def _is_port(link: State) -> bool:
    return bool(link.get("linkinfo", {}).get("info_slave_kind") == "bridge")


def _port_vlans(name: str) -> list[State]:
    listed: list[State] = json.loads(run("bridge", "-n", name, "-json", "vlan", "show") or "[]")
    return listed


def _addresses(link: State) -> list[State]:
    kept = ("local", "prefixlen", "broadcast", "scope", "address", "nodad", "label")
    return [
        {key: address[key] for key in kept if key in address}
        for address in link["addr_info"]
        if not address["local"].startswith("fe80")
    ]


def _is_made(route: State) -> bool:
    route.pop("flags", None)
    return route["type"] not in OF_ITSELF and not route["dst"].startswith(("fe80", "ff00"))


def _sysctl(ifname: str, each: str) -> list[str]:
    path = f"net/{each.format(ifname)}"
    try:
        return [path, read_sysctl(path)]
    except SysctlError:
        return [path, "absent"]


def _filters(name: str, ifname: str) -> list[State]:
    """Return the filters for what comes in over a link, each with its first action.

    The reference plugin adds a second one that is never reached.
    """
    program = ["tc", "-n", name, "-json", "filter", "show", "dev", ifname, "ingress"]
    listed: list[State] = json.loads(run(*program))
    kept = ("kind", "mirred_action", "direction", "to_dev", "control_action")
    for each in listed:
        actions: list[Any] = each.get("options", {}).pop("actions", [])
        for action in actions[:1]:
            each["action"] = {key: action[key] for key in kept}
    return listed
