"""Links that are followed by announcements are those that a list of everything shows."""

import asyncio
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from netclaim.kernel import Link, Netns
from netclaim.network.links.node import live_links
from netclaim.network.links.node.live_links import PAUSE_S, LiveLinks
from netclaim.network.links.node.node_links import NodeLinks, Snapshot
from netclaim.network.links.node.pod_namespaces import PodNamespaces
from netclaim.network.links.remembered.made_bridges import MadeBridges
from tests.support.kernel_support import fresh_netns, ip, ip_json, name_of
from tests.support.network_support import run_on

pytestmark = pytest.mark.embedded

SETTLE_S = 20.0  # for what the kernel does by itself afterwards, such as looking for duplicates
STEPS = 150


def links_of(*pods: Netns) -> NodeLinks:
    """The links of a node with these pods."""
    paths = PodNamespaces(pod.path for pod in pods)
    return NodeLinks(paths, tuple, MadeBridges(Path("/nonexistent")))


async def ipv6_settled(node: Netns) -> None:
    """Wait until the kernel has given each link of the node its IPv6 address and routes."""
    limit = time.monotonic() + SETTLE_S
    while True:
        up = {link.get("ifname", "lo") for link in ip_json(node, "link", "show", "up")} - {"lo"}
        there = {
            link["ifname"]
            for link in ip_json(node, "-6", "address", "show", "scope", "link")
            if link.get("addr_info") and not any("tentative" in each for each in link["addr_info"])
        }
        routes = ip_json(node, "-6", "route", "show", "table", "local", "type", "multicast")
        if up <= there & {route["dev"] for route in routes}:
            return
        assert time.monotonic() < limit, (up, there, routes)
        await asyncio.sleep(0.05)


def add_link_into(node: Netns, pod: Netns, name: str = "veth7") -> None:
    """Make a link of the node that leads into a pod, with an address and a route."""
    peer = ("peer", "name", f"p-{name}", "netns", name_of(pod))
    ip(node, "link", "add", name, "type", "veth", *peer)
    ip(node, "link", "set", name, "up")
    ip(node, "address", "add", "10.99.0.1/32", "dev", name)
    ip(node, "route", "add", "10.99.0.7/32", "dev", name)


def add_bridges(node: Netns, count: int) -> None:
    """Make links, and change each, faster than anybody listens."""
    lines = "".join(f"link add br{n} type bridge\nlink set br{n} mtu 1400\n" for n in range(count))
    command = ["ip", "-n", name_of(node), "-batch", "-"]
    subprocess.run(command, input=lines.encode(), check=True)


def names(seen: Snapshot) -> set[str]:
    """The names of all links."""
    return {link.name for link in seen.links}


def test_a_change_is_seen_at_once(node: Netns) -> None:
    """A caller that has made a link, an address or a route, and then asks, is shown it."""

    async def scenario() -> None:
        links = links_of()
        with links.following():
            await links.snapshot()
            for number in range(20):
                ip(node, "link", "add", f"br{number}", "type", "bridge")
                assert f"br{number}" in names(await links.snapshot())
                ip(node, "address", "add", f"10.1.{number}.1/24", "dev", "eth1")
                addresses = {each.ip for each in (await links.snapshot()).addresses}
                assert f"10.1.{number}.1" in addresses
                ip(node, "link", "delete", f"br{number}")
                assert f"br{number}" not in names(await links.snapshot())
            ip(node, "route", "add", "default", "via", "10.1.3.2")
            (uplink,) = (await links.snapshot()).uplinks
            assert uplink in (await links.snapshot()).carriers
            ip(node, "route", "delete", "default")
            assert not (await links.snapshot()).uplinks

    run_on(node, scenario)


def test_pods_change_nothing_of_the_nodes_own(node: Netns, pod: Netns) -> None:
    """What comes and goes with pods is seen, but nothing is worked out anew for it."""

    async def scenario() -> None:
        await ipv6_settled(node)
        with LiveLinks(PodNamespaces([pod.path])) as live:
            before = await live.look()
            for _ in range(5):
                add_link_into(node, pod)
                there = await live.look()
                assert [link.name for link in there.into_pods] == ["veth7"]
                assert there.own is before.own
                ip(node, "link", "delete", "veth7")
                gone = await live.look()
                assert gone.into_pods == ()
                assert gone.own is before.own

    run_on(node, scenario)


def test_a_pods_link_is_withheld(node: Netns, pod: Netns) -> None:
    """It is among the links, so that a claim that names it is told why it cannot have it."""

    async def scenario() -> tuple[Snapshot, Snapshot]:
        links = links_of(pod)
        with links.following():
            add_link_into(node, pod)
            return await links.snapshot(), await links_of(pod).snapshot()

    live, listed = run_on(node, scenario)
    (link,) = [each for each in live.links if each.name == "veth7"]
    assert live.withheld[link.index] == listed.withheld[link.index] == "it leads into a pod"


def test_somebody_elses_look_is_a_reason_to_list(node: Netns) -> None:
    """The announcement that a look has taken reaches a task that waits for one all the same."""

    async def scenario() -> None:
        with LiveLinks(PodNamespaces(())) as live:
            await anext(live)
            for name, wait_s in (("br0", 0.0), ("br1", PAUSE_S / 2), ("br2", 4 * PAUSE_S)):
                waiting = asyncio.ensure_future(anext(live))
                await asyncio.sleep(wait_s)
                # In one step of the loop, so that the waiting one cannot take it itself.
                ip(node, "link", "add", name, "type", "bridge")
                own = (await live.look()).own
                await waiting
                assert name in {link.name for link in own.links}

    run_on(node, scenario)


def test_what_was_dropped_is_listed(node: Netns) -> None:
    """After more announcements than the socket holds, everything is listed."""

    async def scenario() -> None:
        links = links_of()
        with links.following():
            await links.snapshot()
            add_bridges(node, 300)
            assert {f"br{n}" for n in range(300)} <= names(await links.snapshot())

    run_on(node, scenario)


def test_a_look_that_is_cut_off_loses_nothing(node: Netns, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a look had taken over when it was cancelled, or failed, is seen by the next one."""

    async def scenario() -> None:
        with LiveLinks(PodNamespaces(())) as live:
            await live.look()
            ip(node, "link", "add", "eth3", "type", "veth", "peer", "name", "eth4")
            with monkeypatch.context() as broken:
                never = asyncio.Event()
                broken.setattr(live_links, "list_routes", lambda *_: never.wait())
                look = asyncio.ensure_future(live.look())
                await asyncio.sleep(0.05)
                assert not look.done()
                look.cancel()
                await asyncio.wait([look])
            own = (await live.look()).own
            assert {"eth3", "eth4"} <= {link.name for link in own.links}
            assert {route.index for route in own.routes}

    run_on(node, scenario)


def test_a_link_that_the_node_routes_over_is_its_own(node: Netns, pod: Netns) -> None:
    """Also after a list, where it leads into a pod: its network is one that the node lives in."""
    add_link_into(node, pod)
    ip(node, "address", "add", "10.98.0.1/24", "dev", "veth7")
    ip(node, "route", "add", "default", "dev", "veth7")

    async def scenario() -> None:
        with LiveLinks(PodNamespaces([pod.path])) as live:
            for _ in range(3):
                own = (await live.look()).own
                assert "veth7" in {link.name for link in own.links}
                assert "10.98.0.1" in {address.ip for address in own.addresses}
                live.list_again()

    run_on(node, scenario)


@pytest.mark.parametrize("routed", [False, True])
def test_a_namespace_that_becomes_a_pods_later(node: Netns, routed: bool) -> None:
    """A link is withheld once the namespace at its other end has a pod's path.

    Also if the node routes over it, and it is therefore not set apart.
    """
    with fresh_netns() as made, tempfile.TemporaryDirectory() as directory:
        add_link_into(node, made)
        if routed:
            ip(node, "route", "add", "default", "dev", "veth7")
        path = Path(directory) / "pod"

        async def scenario() -> None:
            links = NodeLinks(
                PodNamespaces([f"{directory}/*"]), tuple, MadeBridges(Path("/nonexistent"))
            )
            with links.following() as live:
                before = await links.snapshot()
                (link,) = [each for each in before.links if each.name == "veth7"]
                assert link.index not in before.withheld
                path.touch()
                await links.snapshot()
                subprocess.run(["mount", "--bind", made.path, path], check=True)  # noqa: ASYNC221
                try:
                    assert link.index in (await links.snapshot()).withheld
                    apart = [each.name for each in (await live.look()).into_pods]
                    assert apart == ([] if routed else ["veth7"])
                finally:
                    subprocess.run(["umount", path], check=True)  # noqa: ASYNC221

        run_on(node, scenario)


def test_discovery_that_fails_fails_nobody_else(node: Netns) -> None:
    """A look while the links cease to be followed gets a list."""

    async def scenario() -> None:
        links = links_of()
        for _ in range(20):
            with links.following():
                await links.snapshot()
                looks = [asyncio.ensure_future(links.snapshot()) for _ in range(5)]
                await asyncio.sleep(0)
                ip(node, "link", "set", "eth1", "alias", "changed")
            for seen in await asyncio.gather(*looks):
                assert "eth1" in names(seen)

    run_on(node, scenario)


def test_devices_are_described_while_others_look(node: Netns) -> None:
    """A link that is announced meanwhile is described from what is known at the end."""

    async def scenario() -> None:
        links = links_of()
        with links.following():
            for number in range(30):
                ip(node, "link", "add", f"br{number}", "type", "bridge")
                seen = await links.snapshot()
                describing = asyncio.ensure_future(seen.describe(seen.links))
                await asyncio.sleep(0)
                for link in ("eth1", "eth2"):
                    ip(node, "link", "set", link, "mtu", str(1400 + number))
                await links.snapshot()
                assert len(await describing) == len(seen.links)

    run_on(node, scenario)


def test_what_is_remembered_is_of_links_that_are_there(node: Netns, pod: Netns) -> None:
    """Links that were described before they led into a pod are forgotten."""

    async def scenario() -> None:
        links = links_of(pod)
        with links.following() as live:
            for number in range(20):
                ip(node, "link", "add", "own", "type", "veth", "peer", "name", f"p{number}")
                seen = await links.snapshot()
                await seen.describe(seen.links)
                ip(node, "link", "set", f"p{number}", "netns", name_of(pod))
                await links.snapshot()
                ip(node, "link", "delete", "own")
            seen = await links.snapshot()
            await seen.describe(seen.links)
            assert seen.described.count <= len(seen.links)
            assert not live.touched

    run_on(node, scenario)


class Machine:
    """A node to which something happens, again and again."""

    def __init__(
        self, node: Netns, pods: list[Netns], elsewhere: Netns, chance: random.Random
    ) -> None:
        self.node = node
        self.pods = pods
        self.elsewhere = elsewhere
        self.chance = chance
        self.made = 0

    def try_ip(self, *arguments: str, where: Netns | None = None) -> None:
        """Run `ip`, which may refuse."""
        command = ["ip", "-n", name_of(where or self.node), *arguments]
        subprocess.run(command, check=False, capture_output=True)

    def name(self) -> str:
        """A link that is there, or was."""
        there = subprocess.run(
            ["ip", "-n", name_of(self.node), "-brief", "link"], check=True, capture_output=True
        ).stdout.decode()
        return self.chance.choice([line.split()[0].split("@")[0] for line in there.splitlines()])

    def new_name(self) -> str:
        """A name that no link has had."""
        self.made += 1
        return f"l{self.made}"

    def describe(self, link: str, *arguments: str) -> None:
        """Give a link an alias or a name, which is announced for links that are up."""
        self.try_ip("link", "set", link, "up")
        self.try_ip("link", *arguments)

    def take_home(self, other: Netns) -> None:
        """Move a link of another namespace to the node."""
        there = [each["ifname"] for each in ip_json(other, "link") if each["ifname"] != "lo"]
        if there:
            link = self.chance.choice(there)
            self.try_ip("link", "set", link, "netns", name_of(self.node), where=other)

    def step(self) -> None:
        """Do one thing."""
        self.chance.choice(self.steps())()

    def steps(self) -> list[Callable[[], None]]:
        """All that can happen."""
        new, number = self.new_name(), self.chance.randrange(200)
        link = self.name()
        other = self.chance.choice([*self.pods, self.elsewhere])
        peer = ("type", "veth", "peer", "name", f"p{new}")
        there = ("netns", name_of(other))
        return [
            lambda: self.try_ip("link", "add", new, "type", "bridge"),
            lambda: self.try_ip("link", "add", new, *peer),
            lambda: self.try_ip("link", "add", new, *peer, *there),
            lambda: self.try_ip("link", "add", new, *peer, "netns", name_of(self.pods[0])),
            lambda: self.try_ip("link", "add", f"p{new}", "type", "veth", "peer", "name", new,
                                "netns", name_of(self.node), where=other),
            lambda: self.try_ip("link", "add", new, "link", link, "type", "macvlan"),
            lambda: self.try_ip("link", "delete", link),
            lambda: self.take_home(other),
            lambda: self.try_ip("link", "set", link, self.chance.choice(["up", "down"])),
            lambda: self.try_ip("link", "set", link, "name", new),
            lambda: self.describe(link, "set", link, "alias", new),
            lambda: self.describe(link, "property", "add", "dev", link, "altname", f"alt-{new}"),
            lambda: self.try_ip("link", "set", link, "mtu", f"{1400 + number % 100}"),
            lambda: self.try_ip("link", "set", link, "master", self.name()),
            lambda: self.try_ip("link", "set", link, "nomaster"),
            lambda: self.try_ip("link", "set", link, *there),
            lambda: self.try_ip("address", "add", f"10.{number}.0.1/24", "dev", link),
            lambda: self.try_ip("address", "add", f"10.{number}.0.2/24", "dev", link),
            lambda: self.try_ip("address", "add", f"fd00:{number}::1/64", "dev", link),
            lambda: self.try_ip("address", "flush", "dev", link),
            lambda: self.try_ip("route", "add", f"10.98.0.{number}/32", "dev", link),
            lambda: self.try_ip("route", "replace", "default", "dev", link),
            lambda: self.try_ip("route", "replace", "default", "via", f"10.{number}.0.9"),
            lambda: self.try_ip("route", "add", f"10.97.{number}.0/24", "via", "10.98.0.1",
                                "onlink", "dev", link),
            lambda: self.try_ip("route", "delete", "default"),
            lambda: self.try_ip("-6", "route", "add", f"fd01:{number}::/64", "dev", link),
        ]  # fmt: skip


def without_silent(link: Link) -> Link:
    """The link without what is not announced: whether one that is down would have a carrier."""
    return link if link.up else structs.replace(link, carrier=False)


def has_ports_into_pods(seen: Snapshot) -> bool:
    """Whether a link into a pod belongs to one that carries the node: its network counts then.

    Links that are followed leave it out, since each pod's link is a port of some bridge.
    """
    return any(
        why.endswith("depends on it") and seen.withheld.get(index, "").startswith("it leads")
        for index, why in seen.carriers.items()
    )


def comparable(seen: Snapshot) -> Snapshot:
    """The same without what nobody reads of links into pods, and in one order."""
    away = {
        index
        for index, why in seen.withheld.items()
        if why.startswith(("it leads", "it has no"))
        # Ports of a bridge that carries the node go with the bridge, and are nobody's either way.
        and seen.carriers.get(index, "depends on it").endswith("depends on it")
    }
    return replace(
        seen,
        links=tuple(sorted(map(without_silent, seen.links), key=lambda link: link.index)),
        addresses=tuple(
            sorted(
                (each for each in seen.addresses if each.index not in away),
                key=lambda address: address.index,  # of one link, in the kernel's order
            )
        ),
        carriers={index: why for index, why in seen.carriers.items() if index not in away},
        used={index: why for index, why in seen.used.items() if index not in away},
        uplinks=tuple(sorted(seen.uplinks)),
        node_networks=tuple(sorted(set(map(str, seen.node_networks)))),  # type: ignore[arg-type]
    )


def difference(one: Snapshot, other: Snapshot) -> str:
    """Say in which parts the two differ."""
    lines = []
    for each in fields(one):
        parts = [getattr(seen, each.name) for seen in (one, other)]
        if each.compare and parts[0] != parts[1]:
            mine, theirs = (_parts(part) for part in parts)
            lines.append(f"{each.name}: followed {mine - theirs}, listed {theirs - mine}")
    return "\n".join(lines)


def _parts(value: Any) -> set[str]:
    items = value.items() if isinstance(value, dict) else value
    return set(map(str, items))


@pytest.mark.parametrize("round_", range(3))
def test_whatever_happens_both_see_the_same(node: Netns, round_: int) -> None:
    """After each of many random steps, a look at what is followed is as good as a list."""
    with fresh_netns() as one, fresh_netns() as two, fresh_netns() as elsewhere:
        pods = [one, two]
        machine = Machine(node, pods, elsewhere, random.Random(random.random()))

        async def scenario() -> None:
            followed, listed = links_of(*pods), links_of(*pods)
            with followed.following() as live:
                for number in range(STEPS):
                    machine.step()
                    if number % 7 == 0:
                        live.list_again()
                    limit = time.monotonic() + SETTLE_S
                    while True:
                        seen = comparable(await followed.snapshot())
                        everything = await listed.snapshot()
                        expected = comparable(everything)
                        networks, peers = expected.node_networks, expected.node_peers
                        fewer = set(seen.node_networks) <= set(networks)
                        if fewer and has_ports_into_pods(everything):
                            seen = replace(seen, node_networks=networks, node_peers=peers)
                        if seen == expected:
                            break
                        assert time.monotonic() < limit, difference(seen, expected)
                        await asyncio.sleep(0.05)

        run_on(node, scenario)
