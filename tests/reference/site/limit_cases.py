"""Limits on the kinds of link that this machine may lack, for a guest; its kernel is older, too.

The guest is emulated, so that the rate is low, and may not be reached; it must not be exceeded.
"""

from lab.traffic import fair_rate
from netclaim.kernel import Netns, Rtnl, find_link
from netclaim.kernel.state.link_limit import is_limited, limit_link, remove_orphans
from tests.support.kernel_support import fresh_netns, ip, ip_json, name_of
from tests.support.network_support import run_on

BITS = 3_000_000
# How each is made: on the node for the pod, and what the other end of the cable needs to be.
KINDS = {
    "ipvlan": ("type ipvlan mode l2", "eth1-peer"),
    "vlan": ("type vlan id 5", "eth1-peer.5"),
}
CASES = tuple(f"limit: {kind}" for kind in KINDS)


def find_faults(case: str) -> list[str]:
    """Limit an interface of this kind, send through it both ways, and remove it."""
    how, end = KINDS[case.removeprefix("limit: ")]
    with fresh_netns() as node, fresh_netns() as outside, fresh_netns() as pod:
        ip(node, "link", "add", "eth1", "type", "veth", "peer", "name", "eth1-peer")
        ip(node, "link", "set", "eth1-peer", "netns", name_of(outside))
        ip(node, "link", "set", "eth1", "up")
        ip(outside, "link", "set", "eth1-peer", "up")
        if end != "eth1-peer":
            ip(outside, "link", "add", "link", "eth1-peer", "name", end, "type", "vlan", "id", "5")
        made = ("link", "add", "link", "eth1", "name", "net1", "netns", name_of(pod))
        ip(node, *made, *how.split())
        for netns, link, last in ((outside, end, 1), (pod, "net1", 2)):
            ip(netns, "link", "set", link, "up")
            ip(netns, "address", "add", f"10.30.0.{last}/24", "dev", link)
            ip(netns, "address", "add", f"2001:db8::{last}/64", "dev", link, "nodad")
        run_on(pod, _limit)
        found = _wrong_rates(pod, outside)
        ip(pod, "link", "delete", "net1")
        run_on(pod, lambda: remove_orphans(pod))
        left = [link["ifname"] for link in ip_json(pod, "link")]
        return found if left == ["lo"] else [*found, f"left behind: {left}"]


async def _limit() -> None:
    with Rtnl.open() as rtnl:
        link = await find_link(rtnl, "net1")
        assert link is not None
        await limit_link(rtnl, link.index, BITS, mtu=link.mtu)
        assert await is_limited(rtnl, link.index, BITS, mtu=link.mtu)


def _wrong_rates(pod: Netns, outside: Netns) -> list[str]:
    """Each way by one family; a limit knows nothing of families."""
    ways = {
        "sent": fair_rate(pod, outside, "10.30.0.1", expected=BITS),
        "received": fair_rate(outside, pod, "2001:db8::2", expected=BITS),
    }
    return [
        f"{way}: {part:.2f} of the limit" for way, part in ways.items() if not 0.5 <= part <= 1.1
    ]
