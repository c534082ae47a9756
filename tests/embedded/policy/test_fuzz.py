"""Whatever a claim at `baseline` says, it changes nothing outside of its pod and its own link.

Thousands of claims are prepared; those that are accepted are attached to a real pod of a real node
and detached again. The node, a second pod that stands on the same links, and the machine's files
must be the same all the while.

NETCLAIM_FUZZ=N tries N claims, others than those of every day.
"""

import asyncio
import ipaddress
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest
from hypothesis import Phase
from hypothesis import strategies as st

from netclaim.cni import NetworkList
from netclaim.errors import NetclaimError, RequestError
from netclaim.framework.contract import NotBegunError
from netclaim.kernel.host import nftables
from netclaim.kernel.state.removal import remove_link
from netclaim.model import Attachment, Claim, Plan, Prepared
from netclaim.network.driver import LinkDriver
from netclaim.network.plan.interface_plan import InterfacePlan, read_plan
from netclaim.network.policy.levels import Level
from netclaim.network.request.into_config.link_keys import linked_names
from tests.embedded.policy.policy_grammar import BYTES, claim_from
from tests.embedded.policy.policy_machine import (
    CANARY,
    CARRIES,
    FACTS,
    OWN,
    Machine,
    fresh_machine,
    inside,
)
from tests.embedded.policy.policy_picture import (
    SETTINGS,
    FilePicture,
    Picture,
    Witness,
    again,
    all_settings,
    changes,
    identity_of,
    picture_files,
    picture_settings,
    witness_of,
)
from tests.support.network_support import driver_for, pod_of

EXAMPLES: Final = int(os.environ.get("NETCLAIM_FUZZ", "20000"))
# Of all claims; a driver that refuses everything proves nothing.
ACCEPTED_MIN: Final = 0.05
ATTACHED_MIN: Final = 0.01
# What a claim's network may be made of, and what it may not say; without a link of its own, not
# even these.
TYPES: Final = frozenset(
    {
        "dummy", "host-device", "ipvlan", "link-settings", "macvlan", "sbr", "tap", "tuning",
        "vlan", "vrf",
    }
)  # fmt: skip
NEVER: Final = frozenset(
    {
        "args", "bcqueuelen", "capabilities", "disableebpfprograms", "hwaddr", "ipmasq",
        "kernelpath", "linkincontainer", "pcibusid", "prevresult", "selinuxcontext",
    }
)  # fmt: skip
NOT_SHARED: Final = frozenset(
    {
        "allmulti", "ethtool", "gsomaxsize", "mac", "neighbors", "promisc", "txqlen",
    }
)  # fmt: skip
THREADS_MAX: Final = 64  # more than any pool of ours has


@dataclass(frozen=True)
class Before:
    """How everything was before a claim came."""

    node: Picture
    victim: Picture
    pod: Picture
    files: FilePicture
    settings: Mapping[str, str]
    children: frozenset[str]


@dataclass
class Attacked:
    """A machine under attack, and who watches it."""

    machine: Machine
    state: Path
    driver: LinkDriver
    node: Witness
    victim: Witness
    pod: Witness
    before: Before
    outcomes: Counter[str] = field(default_factory=Counter)
    tried: set[str] = field(default_factory=set)

    async def attack(self, claim: Claim) -> None:
        """Try one claim; AssertionError where it changed what is not its own."""
        try:
            (plan,) = (await self.driver.prepare(claim)).plans
        except NetclaimError as error:
            self.outcomes[f"refused: {type(error).__name__}"] += 1
            self._see_files()
            return
        self.outcomes["accepted"] += 1
        interface = read_plan(plan)
        kept = json.dumps([interface.to_json(), plan.device.device], sort_keys=True)
        if kept not in self.tried:
            network = interface.network
            own = _is_own(claim)
            if not interface.trusted:
                _check_words(network, link=interface.link, own=own)
                _check_files(network, str(self.state))
            await self._attach_and_detach(plan, own=own)
            await self.driver.unprepare(Prepared(claim=claim.ref, plans=(plan,)))
            self.tried.add(kept)

    async def tidy(self) -> None:
        """Take away what a claim left in the pod, so that a plainer claim can be tried there."""
        for name in _links(await self.pod.picture()) - _links(self.before.pod):
            await remove_link(self.machine.pod, name)

    async def _attach_and_detach(self, plan: Plan, *, own: bool) -> None:
        data = await self._attach(plan)
        assert CANARY not in json.dumps(data), "a claim has read a file"
        _check_addresses(data, read_plan(plan))
        await self._see(in_use=own)
        await self._detach(plan)
        await self._see()
        assert _links(await self.pod.picture()) == _links(self.before.pod)

    async def _attach(self, plan: Plan) -> Mapping[str, Any]:
        try:
            attachment = await self.driver.attach(plan, pod_of(self.machine.pod))
        except (NotBegunError, RequestError) as error:
            raise AssertionError("prepare accepted what attach refuses") from error
        except NetclaimError:
            self.outcomes["failed"] += 1
            return {}
        self.outcomes["attached"] += 1
        return attachment.data

    async def _detach(self, plan: Plan) -> None:
        attachment = Attachment(plan, pod_of(self.machine.pod))
        await self.driver.detach(attachment)
        await self.driver.detach(attachment)
        kept = [path for path in self.state.glob("leases/*/*/*/leases/*/*") if _is_lease(path)]
        assert not kept, f"leases are left: {kept}"

    async def _see(self, *, in_use: bool = False) -> None:
        """See that everything is as it was, apart from the attacker's link while it is in use."""
        now = await self.node.picture()
        on_node = changes(self.before.node, now, but_for=(OWN,))
        assert not on_node, f"the node is another: {on_node}"
        if not in_use:
            assert identity_of(now, OWN) == identity_of(self.before.node, OWN)
        on_victim = changes(self.before.victim, await self.victim.picture())
        assert not on_victim, f"the other pod is another: {on_victim}"
        settings = picture_settings(SETTINGS).items() - self.before.settings.items()
        assert not settings, f"the node has other settings: {settings}"
        self._see_files()
        assert _children() == self.before.children
        assert threading.active_count() < THREADS_MAX

    def _see_files(self) -> None:
        touched = again(self.before.files).items() ^ self.before.files.items()
        assert not touched, f"files were touched: {sorted(path for path, _ in touched)}"
        there = {path.name for path in self.state.iterdir()}
        assert there <= {"bridges", "cni", "journal.db", "leases", "lent", "plugins"}


async def _look(machine: Machine, state: Path, driver: LinkDriver, *who: Witness) -> Attacked:
    node, victim, pod = who
    before = Before(
        node=await node.picture(),
        victim=await victim.picture(),
        pod=await pod.picture(),
        files=picture_files((*machine.watched, str(state / "journal.db"))),
        settings=picture_settings(SETTINGS),
        children=_children(),
    )
    return Attacked(machine, state, driver, node, victim, pod, before)


def _links(pod: Picture) -> set[str]:
    """Name the links of a pod; all else in there is its own affair."""
    return {words.partition(" ")[0] for kind, _, words in pod if kind == "link"}


def _is_lease(path: Path) -> bool:
    return path.name != "lock" and not path.name.startswith("last_reserved_ip.")


def _children() -> frozenset[str]:
    tasks = Path("/proc/self/task").glob("*/children")
    return frozenset(child for task in tasks for child in _read(task).split())


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # a thread that has ended
        return ""


def _is_own(claim: Claim) -> bool:
    """Whether the claim has its link to itself."""
    device = claim.devices[0]
    return device.device == OWN and not device.share_id and not device.admin_access


def _check_words(network: NetworkList, *, link: str, own: bool) -> None:
    """See that what runs is harmless in its words too: not every kernel has every kind of link."""
    shares_a_link = not own and bool(link or linked_names(network))
    for plugin in network.plugins:
        config = plugin.config
        said = {key.casefold() for key, value in config.items() if value}
        assert len({key.casefold() for key in config}) == len(config)
        assert plugin.type in TYPES
        assert plugin.ipam_type in {"", "host-local", "static"}
        assert not said & NEVER
        if link:
            assert config.get("master", link) == config.get("device", link) == link
        if shares_a_link:
            assert plugin.type not in {"host-device", "ipvlan", "vlan"}
            assert config.get("mode") != "passthru"
            assert not said & NOT_SHARED or plugin.type == "tap"
        for name in config.get("sysctl") or ():
            assert not re.search("all|default|forward|proxy|core|eth0|uplink|[.]{2}", name)


def _check_files(network: NetworkList, state: str) -> None:
    """See that plugins are told to keep files where the driver keeps its own, and to read none."""
    for plugin in network.plugins:
        config = plugin.config
        for keys in (config, config.get("ipam") or {}):
            folded = {key.casefold(): value for key, value in keys.items() if value}
            assert "resolvconf" not in folded
            assert str(folded.get("datadir", state)).startswith(state)


def _check_addresses(data: Mapping[str, Any], interface: InterfacePlan) -> None:
    """See that nobody on a link that carries the node can be taken for the node."""
    if not linked_names(interface.network) & CARRIES.keys():
        return
    networks = [ipaddress.ip_interface(each) for each in CARRIES.values()]
    wished = bool(
        interface.wishes.ips
    )  # a class may have let a claim choose, but not the node's own
    for ip in data.get("ips", ()):
        address = ipaddress.ip_interface(ip["address"])
        assert address.ip not in {each.ip for each in networks} or interface.trusted
        beside = [each for each in networks if address.ip in each.network]
        assert not beside or wished or interface.trusted


def _attack_often(attacked: Attacked, runner: asyncio.Runner) -> None:
    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize="NETCLAIM_FUZZ" not in os.environ,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @hypothesis.given(st.binary(min_size=BYTES, max_size=BYTES))
    def attack(data: bytes) -> None:
        claim = claim_from(data, home=str(attacked.machine.root / "home"))
        try:
            runner.run(attacked.attack(claim))
        except BaseException as error:
            error.add_note(repr(claim))
            runner.run(attacked.tidy())
            raise

    attack()


def _attack_all(machine: Machine, state: Path) -> Counter[str]:
    """Attack a machine that we are inside of; returns how often there was which outcome."""
    driver = driver_for(
        state,
        machine.traps,
        policy_ceiling=Level.BASELINE,
        pod_netns=(machine.pod.path, machine.victim.path),
    )
    driver.learn_node(FACTS)
    with ExitStack() as stack:
        watched = (machine.node, machine.victim, machine.pod)
        witnesses = [stack.enter_context(witness_of(netns)) for netns in watched]
        runner = stack.enter_context(asyncio.Runner())
        attacked = runner.run(_look(machine, state, driver, *witnesses))
        names = all_settings()
        before = picture_settings(names), nftables.run("list ruleset")
        _attack_often(attacked, runner)
        assert (picture_settings(names), nftables.run("list ruleset")) == before
    return attacked.outcomes


@pytest.mark.timeout(900)  # thousands of pods; a busy machine takes several times as long
def test_no_claim_reaches_beyond_its_pod_and_its_link(tmp_path: Path) -> None:
    """Of 20,000 claims, those that are accepted change only their pod and a link of their own."""
    state = tmp_path / "state"
    for directory in (tmp_path / "machine", state):
        directory.mkdir()
    (state / "journal.db").write_text(CANARY)
    with fresh_machine(tmp_path / "machine") as machine:
        outcomes = inside(machine, lambda: _attack_all(machine, state))
        assert machine.victim_answers()
    assert outcomes["accepted"] >= EXAMPLES * ACCEPTED_MIN, outcomes
    assert outcomes["attached"] >= EXAMPLES * ATTACHED_MIN, outcomes
