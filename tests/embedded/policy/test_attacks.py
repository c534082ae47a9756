"""Ways in which a tenant could reach beyond its pod: each is tried, and refused in words.

The machine is real: a node with links that carry it, a link of the attacker's own, another that is
shared with a victim's pod, files and programs. A refusal names the key, what it needs, and who can
grant it; and the node, the victim and the files are as before.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from netclaim.errors import RequestError
from netclaim.framework.contract import NotBegunError
from netclaim.kernel import Netns, call_in
from netclaim.kernel.host.sysctls.sysctl import read_sysctl, write_sysctl
from netclaim.model import Plan
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.driver import LinkDriver
from netclaim.network.errors import PolicyError
from netclaim.network.plugin_files import UNUSED_MAX
from netclaim.network.policy.levels import Level
from tests.embedded.policy.policy_attack import (
    Attack,
    attach,
    detach,
    driver_on,
    network_of,
    prepare,
    unharmed,
)
from tests.embedded.policy.policy_machine import Machine, fresh_machine
from tests.embedded.policy.policy_picture import all_settings, picture_settings
from tests.embedded.policy.policy_tables import (
    ATTACKS,
    HOME,
    HOST_DEVICE,
    MACVLAN,
    NOT_OWN,
    PASSTHRU,
    RANGE,
    SHARED,
)
from tests.support.kernel_support import ip, ip_json

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine that no attack may harm, so that one is enough for all."""
    with fresh_machine(tmp_path_factory.mktemp("machine")) as made:
        before = call_in(made.node, lambda: picture_settings(all_settings()))
        yield made
        assert call_in(made.node, lambda: picture_settings(all_settings())) == before
        assert made.victim_answers()


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[Machine]:
    """A machine for a test that changes it."""
    directory = tmp_path / "machine"
    directory.mkdir()
    with fresh_machine(directory) as made:
        yield made


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The driver's own directory."""
    return tmp_path / "state"


@pytest.fixture
def driver(machine: Machine, state: Path) -> LinkDriver:
    """The driver as it is built without settings."""
    return driver_on(machine, state)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_attack_is_refused(machine: Machine, driver: LinkDriver, attack: Attack) -> None:
    """The refusal says which key is wrong and why; nothing outside of the pod has changed."""
    with unharmed(machine), pytest.raises(RequestError) as caught:
        prepare(machine, driver, attack)
    for words in attack.says:
        assert words in str(caught.value)


def links_of(netns: Netns) -> set[str]:
    """The links in a namespace, but for its loopback."""
    return {link["ifname"] for link in ip_json(netns, "link")} - {"lo"}


def setting_of(netns: Netns, name: str) -> str:
    """A setting of the kernel, as it is in a namespace."""
    return call_in(netns, lambda: read_sysctl(name))


@pytest.mark.parametrize("plugin", [HOST_DEVICE, PASSTHRU], ids=["host-device", "passthru"])
def test_a_class_gives_the_uplink_away_in_a_privileged_namespace(
    doomed: Machine, state: Path, plugin: dict[str, Any]
) -> None:
    """What carries the node is an admin's to give, and an admin has said so twice."""
    driver = driver_on(doomed, state)
    given = Attack(of_class={"config": network_of(plugin)}, device="api1", level="privileged")
    ip(doomed.victim, "link", "delete", "v-api1")  # nobody else may stand on it
    plan = prepare(doomed, driver, given)
    attach(doomed, driver, plan)
    assert "net1" in links_of(doomed.pod)
    detach(doomed, driver, plan)
    assert "api1" in links_of(doomed.node)


def test_the_ceiling_of_a_node_is_over_every_label(machine: Machine, state: Path) -> None:
    """A label says `privileged`; a node that goes to `baseline` at most does not believe it."""
    driver = driver_on(machine, state, policy_ceiling=Level.BASELINE)
    taken = Attack(
        of_class={"config": network_of(HOST_DEVICE)}, device="uplink", level="privileged"
    )
    bridge = Attack(plugins=({"type": "bridge", "bridge": "br1"},), level="privileged")
    with unharmed(machine):
        with pytest.raises(PolicyError, match="cannot be given to a pod"):
            prepare(machine, driver, taken)
        with pytest.raises(PolicyError, match="but namespace 'tenant' has baseline"):
            prepare(machine, driver, bridge)


def test_a_node_may_be_strict_by_default(machine: Machine, state: Path) -> None:
    """Without a label the node's own level holds, and a label may go beyond it."""
    driver = driver_on(machine, state, policy=Level.RESTRICTED)
    with pytest.raises(PolicyError, match="namespace 'tenant' has restricted"):
        prepare(machine, driver, Attack(plugins=(MACVLAN,)))
    prepare(machine, driver, Attack(plugins=(MACVLAN,), level="baseline"))


def test_restricted_leaves_what_the_class_allows(machine: Machine, driver: LinkDriver) -> None:
    """At `restricted` a claim names its interface, and sets what its class lists."""
    of_class = {"config": network_of({**MACVLAN, "ipam": RANGE}), "allow": ["ips"]}
    allowed = Attack(of_class=of_class, beside={"ips": ["10.10.1.7"]}, level="restricted")
    plan = prepare(machine, driver, allowed)
    assert attach(machine, driver, plan).data["ips"][0]["address"] == "10.10.1.7/24"
    detach(machine, driver, plan)


HOSTS: Final = {"type": "host-local", "subnet": "10.10.1.0/24", "rangeStart": "10.10.1.50"}
BRINGS: Final = {
    "static addresses": (
        {"type": "static", "addresses": [{"address": "10.10.1.77/24"}]},
        {},
    ),
    "a range": (HOSTS, {}),
    "ips": ({"type": "static"}, {"ips": ["10.10.1.77/24"]}),
    "ips of a range": (HOSTS, {"ips": ["10.10.1.77"]}),
}


@pytest.mark.parametrize(("ipam", "beside"), BRINGS.values(), ids=BRINGS)
@pytest.mark.parametrize("where", ["own1", "shim"])
def test_an_address_that_the_node_got_after_prepare_is_seen_at_add(
    doomed: Machine, state: Path, ipam: dict[str, Any], beside: dict[str, Any], where: str
) -> None:
    """However young the plan is, and whether the node has it on the link or beside it."""
    driver = driver_on(doomed, state)
    ip(doomed.node, "link", "add", "link", "own1", "name", "shim", "type", "macvlan")
    attack = Attack(plugins=({**MACVLAN, "ipam": ipam},), beside=beside)
    plan = prepare(doomed, driver, attack)
    ip(doomed.node, "address", "add", "10.10.1.77/24", "dev", where)
    with unharmed(doomed):
        with pytest.raises(NotBegunError, match=r"10[.]10[.]1[.]77,? (is )?the node's own address"):
            attach(doomed, driver, plan)
        with pytest.raises(RequestError, match="the node's own address"):
            prepare(doomed, driver, attack)
    ip(doomed.node, "address", "delete", "10.10.1.77/24", "dev", where)
    attach(doomed, driver, plan)
    detach(doomed, driver, plan)


USES: Final = {
    "an address": (("address", "add", "10.88.0.1/24", "dev", "own1"),),
    "a gateway": (
        ("route", "add", "10.88.0.9", "dev", "own1"),
        ("route", "add", "10.89.0.0/16", "via", "10.88.0.9", "dev", "own1"),
    ),
    "a next hop": (
        ("nexthop", "add", "id", "7", "via", "10.88.0.9", "dev", "own1", "onlink"),
        ("route", "add", "10.89.0.0/16", "nhid", "7"),
    ),
}


@pytest.mark.parametrize("changes", USES.values(), ids=USES)
@pytest.mark.parametrize("plugin", [HOST_DEVICE, PASSTHRU], ids=["host-device", "passthru"])
def test_a_link_that_the_node_uses_is_no_tenants_to_take(
    doomed: Machine, state: Path, plugin: dict[str, Any], changes: tuple[tuple[str, ...], ...]
) -> None:
    """Not even where the link does not carry the node; an admin's class may give it away."""
    driver = driver_on(doomed, state)
    call_in(doomed.node, lambda: write_sysctl("net/ipv4/nexthop_compat_mode", "0"))
    plan = prepare(doomed, driver, Attack(plugins=(plugin,)))
    for change in changes:
        ip(doomed.node, *change)
    with unharmed(doomed):
        with pytest.raises(NotBegunError, match="the node uses the link 'own1': the node"):
            attach(doomed, driver, plan)
        with pytest.raises(PolicyError, match="needs a link that the claim has to itself"):
            prepare(doomed, driver, Attack(plugins=(plugin,)))
    prepare(doomed, driver, Attack(of_class={"config": network_of(plugin)}))


BECOMES_UPLINK: Final = {
    "a default route": ("route", "append", "default", "dev", "own1", "metric", "9"),
    "a default route by a next hop": ("route", "append", "default", "nhid", "12"),
    "a default route of another table": ("route", "add", "default", "dev", "own1", "table", "99"),
    "the way to the API server": ("route", "add", "203.0.113.5/32", "dev", "own1"),
    "the node's address": ("address", "add", "198.51.100.10/32", "dev", "own1"),
    "a link that carries the node": ("link", "set", "own1", "master", "br-node"),
}


@pytest.mark.parametrize("change", BECOMES_UPLINK.values(), ids=BECOMES_UPLINK)
@pytest.mark.parametrize("plugin", [HOST_DEVICE, PASSTHRU], ids=["host-device", "passthru"])
def test_a_link_that_came_to_carry_the_node_is_not_given_away(
    doomed: Machine, state: Path, plugin: dict[str, Any], change: tuple[str, ...]
) -> None:
    """Between prepare and attach the link became the node's own: attach looks again."""
    driver = driver_on(doomed, state)
    call_in(doomed.node, lambda: write_sysctl("net/ipv4/nexthop_compat_mode", "0"))
    ip(doomed.node, "nexthop", "add", "id", "1", "dev", "own1")
    ip(doomed.node, "nexthop", "add", "id", "12", "group", "1")
    ip(doomed.node, "link", "add", "br-node", "type", "bridge")
    ip(doomed.node, "link", "set", "br-node", "up")
    ip(doomed.node, "route", "add", "default", "dev", "br-node", "metric", "7", "table", "98")
    plan = prepare(doomed, driver, Attack(plugins=(plugin,)))
    ip(doomed.node, *change)
    with unharmed(doomed), pytest.raises(NotBegunError, match="carries the node") as caught:
        attach(doomed, driver, plan)
    assert isinstance(caught.value, RequestError)
    detach(doomed, driver, plan)


def test_a_program_is_not_run_for_a_claim(machine: Machine, driver: LinkDriver) -> None:
    """A program that any root can start is not started for a tenant, not even to ask it."""
    with unharmed(machine), pytest.raises(PolicyError):
        prepare(machine, driver, Attack(plugins=({"type": "evil"},)))


@pytest.mark.parametrize(
    ("settings", "attack"),
    [
        ({"claim_plugins": frozenset({"evil"})}, Attack(plugins=({"type": "evil", "own": 1},))),
        ({}, Attack(of_class={"config": network_of({"type": "evil"})})),
        ({}, Attack(plugins=({"type": "evil"},), level="privileged")),
    ],
    ids=["--claim-plugins", "class", "privileged"],
)
def test_a_program_is_run_where_an_admin_says_so(
    doomed: Machine, state: Path, settings: dict[str, Any], attack: Attack
) -> None:
    """By the node's settings, in a class, or for a namespace that is trusted."""
    driver = driver_on(doomed, state, **settings)
    plan = prepare(doomed, driver, attack)
    assert list((doomed.root / "sprung").iterdir()) == []
    attach(doomed, driver, plan)
    assert (doomed.root / "sprung" / "evil").read_text().startswith("ADD ")


def leases_in(state: Path, whose: str) -> list[str]:
    """The addresses that are leased below a directory of the driver's."""
    return sorted(path.name for path in state.glob(f"leases/*/{whose}/leases/a-network/10.*"))


def test_networks_of_one_name_are_apart(machine: Machine, driver: LinkDriver, state: Path) -> None:
    """Each namespace, and the classes together, have their own addresses of a network's name."""
    ranged = network_of({**MACVLAN, "ipam": RANGE})
    attacks = [
        Attack(config=ranged, namespace="tenant-a", ifname="net1", uid="a"),
        Attack(config=ranged, namespace="tenant-b", ifname="net2", uid="b"),
        Attack(of_class={"config": ranged}, namespace="tenant-b", ifname="net3", uid="c"),
    ]
    with unharmed(machine):
        plans = [prepare(machine, driver, attack) for attack in attacks]
        for plan in plans:
            attach(machine, driver, plan)
        owners = ("namespace/tenant-a", "namespace/tenant-b", "class")
        assert [leases_in(state, whose) for whose in owners] == [["10.10.1.2"]] * 3
        detach(machine, driver, plans[1])
        assert [leases_in(state, whose) for whose in owners] == [["10.10.1.2"], [], ["10.10.1.2"]]
        for plan in plans:
            detach(machine, driver, plan)


def test_networks_that_nobody_uses_are_forgotten(
    machine: Machine, driver: LinkDriver, state: Path
) -> None:
    """A tenant can think of a new name every time; what it leaves behind does not pile up."""
    leases = state / "leases" / driver.name / "namespace" / "tenant" / "leases"
    for number in range(200):
        (leases / f"n{number}").mkdir(parents=True)
    for used in ("n3", "n77"):
        (leases / used / "10.10.1.2").write_text("somebody")
    mine = network_of({**MACVLAN, "ipam": RANGE}, name="n50")
    for _ in range(3):  # each of which looks at some of them
        prepare(machine, driver, Attack(config=mine))
    left = {path.name for path in leases.iterdir()}
    assert {"n3", "n50", "n77"} <= left
    assert len(left) <= UNUSED_MAX


def test_an_allowed_sysctl_changes_the_pod_alone(machine: Machine, driver: LinkDriver) -> None:
    """Settings of the interface, and those that are harmless to others, are the pod's own."""
    wanted = {
        "net.ipv4.conf.IFNAME.arp_ignore": "2",
        "net/ipv4/conf/IFNAME/rp_filter": "2",
        "net.ipv4.conf.net1.arp_announce": "2",
        "net.ipv4.ip_unprivileged_port_start": "77",
    }
    tuned = Attack(plugins=(MACVLAN, {"type": "tuning", "sysctl": wanted}), **SHARED)
    with unharmed(machine):
        plan = prepare(machine, driver, tuned)
        attach(machine, driver, plan)
        assert setting_of(machine.pod, "net/ipv4/conf/net1/arp_ignore") == "2"
        assert setting_of(machine.pod, "net/ipv4/conf/net1/rp_filter") == "2"
        assert setting_of(machine.pod, "net/ipv4/conf/net1/arp_announce") == "2"
        assert setting_of(machine.pod, "net/ipv4/conf/eth0/arp_ignore") == "0"
        assert setting_of(machine.pod, "net/ipv4/ip_unprivileged_port_start") == "77"
        detach(machine, driver, plan)


CHANGES: Final = {
    "the node's address on a link above": (
        (("link", "add", "link", "own1", "name", "shim", "type", "macvlan", "mode", "bridge"),
         ("link", "set", "shim", "up"),
         ("address", "add", "198.51.100.77/32", "dev", "shim"),
         ("route", "add", "default", "dev", "shim", "table", "99")),
        "198.51.100.77 is the node's own address on the link 'own1'",
    ),
    "a gateway beyond the node's own network": (
        (("address", "add", "198.51.100.1/32", "dev", "own1"),
         ("route", "add", "198.51.100.77", "dev", "own1"),
         ("route", "add", "default", "via", "198.51.100.77", "dev", "own1", "table", "99")),
        "198.51.100.77 is the (node.s own )?address (of a gateway .*)?on the link .own1.",
    ),
    "a gateway to somewhere else": (
        (("address", "add", "198.51.100.1/24", "dev", "own1"),
         ("route", "add", "10.50.0.0/16", "via", "198.51.100.77", "dev", "own1")),
        "198.51.100.77 is the address of a gateway .*on the link .own1.",
    ),
    "a gateway beside the link": (
        (("link", "add", "link", "own1", "name", "shim", "type", "macvlan", "mode", "bridge"),
         ("link", "set", "shim", "up"),
         ("address", "add", "198.51.100.1/24", "dev", "shim"),
         ("route", "add", "10.50.0.0/16", "via", "198.51.100.77", "dev", "shim")),
        "198.51.100.77 is the address of a gateway .*on the link .own1.",
    ),
    "the API server": (
        (("route", "add", "default", "dev", "own1", "table", "99"),),
        "198.51.100.77 is the (node.s own )?address (of a gateway .*)?on the link .own1.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), CHANGES.values(), ids=CHANGES)
def test_no_address_on_the_nodes_way_out_is_one_that_the_node_talks_to(
    doomed: Machine, state: Path, changes: tuple[tuple[str, ...], ...], words: str
) -> None:
    """Its own on a link above, its gateway's and the API server's are refused on that link.

    A plan that was made a moment before is held against the same.
    """
    driver = driver_on(doomed, state)
    driver.learn_node(NodeFacts(api_addresses=("198.51.100.77",)))
    static = {"type": "static", "addresses": [{"address": "198.51.100.77/24"}]}
    attack = Attack(plugins=({**MACVLAN, "ipam": static},))
    wish = Attack(
        plugins=({**MACVLAN, "ipam": {"type": "static"}},), beside={"ips": ["198.51.100.77/24"]}
    )
    plans = [prepare(doomed, driver, each) for each in (attack, wish)]
    for change in changes:
        ip(doomed.node, *change)
    with unharmed(doomed):
        for each in (attack, wish):
            with pytest.raises(PolicyError, match=words):
                prepare(doomed, driver, each)
        for plan in plans:
            with pytest.raises(NotBegunError, match=words):
                attach(doomed, driver, plan)


@pytest.mark.parametrize("plugin", [HOST_DEVICE, PASSTHRU], ids=["host-device", "passthru"])
def test_a_link_under_another_is_nobodys_own(
    doomed: Machine, state: Path, plugin: dict[str, Any]
) -> None:
    """The owner of the link above, perhaps another claim, would lose it."""
    driver = driver_on(doomed, state)
    ip(doomed.node, "link", "add", "link", "own1", "name", "above", "type", "macvlan")
    with unharmed(doomed), pytest.raises(PolicyError) as caught:
        prepare(doomed, driver, Attack(plugins=(plugin,)))
    for words in (*NOT_OWN, "the link 'above' uses 'own1'"):
        assert words in str(caught.value)


VETH: Final = ("net1", "type", "veth", "peer", "name", "mine")


@pytest.mark.parametrize("known", [True, False], ids=["known", "forgotten"])
def test_a_pod_cannot_put_a_link_of_its_own_onto_the_node(
    doomed: Machine, state: Path, *, known: bool
) -> None:
    """It calls a link as the lent one was called; detach does not take one of another kind for it.

    Nor one of any kind, where it is not known any more what was lent.
    """
    driver = driver_on(doomed, state)
    plan = prepare(doomed, driver, Attack(plugins=(HOST_DEVICE,)))
    before = links_of(doomed.node)
    attach(doomed, driver, plan)
    if not known:
        shutil.rmtree(state / "plugins")
    for change in (
        ("link", "set", "net1", "down"),
        ("link", "set", "net1", "name", "stolen"),
        ("link", "add", *(("link", "eth0", "net1", "type", "macvlan") if known else VETH)),
        ("link", "set", "net1", "alias", "own1" if known else "anything"),
    ):
        ip(doomed.pod, *change)
    detach(doomed, driver, plan)
    assert "net1" in links_of(doomed.pod)
    assert links_of(doomed.node) <= before


def edited(plan: Plan, **changes: Any) -> Plan:
    """A plan as somebody has left it in the journal; None takes a key out."""
    network = {**(plan.network or {}), **changes}
    kept = {key: value for key, value in network.items() if value is not None}
    return msgspec.structs.replace(plan, network=kept)


FORBIDDEN: Final = {
    "a bridge": network_of({"type": "bridge", "bridge": "br1", "isGateway": True}),
    "the uplink": network_of({**HOST_DEVICE, "device": "uplink"}),
    "the uplink, in capitals": network_of({**PASSTHRU, "MASTER": "uplink"}),
    "two spellings": network_of({**PASSTHRU, "master": "own1", "MASTER": "uplink"}),
    "a program": network_of({"type": "evil"}),
    "a directory": network_of({**MACVLAN, "ipam": {**RANGE, "dataDir": HOME}}),
    "linkInContainer": network_of({**MACVLAN, "master": "eth0", "linkInContainer": True}),
}


@pytest.mark.parametrize("level", [None, "baseline"], ids=["older driver", "edited"])
@pytest.mark.parametrize("config", FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_plan_that_would_not_be_made_today_is_refused(
    machine: Machine, driver: LinkDriver, config: dict[str, Any], level: str | None
) -> None:
    """Attach checks every plan, no matter who wrote it; detach needs no permission."""
    made = prepare(machine, driver, Attack(plugins=(MACVLAN,)))
    plan = edited(made, config=config, level=level, files=None)
    with unharmed(machine), pytest.raises(NotBegunError) as caught:
        attach(machine, driver, plan)
    assert isinstance(caught.value, RequestError)
    with unharmed(machine, files=False):  # DEL locks leases, and programs that are run for it write
        detach(machine, driver, plan)


def test_a_plan_of_an_older_driver_that_is_harmless_is_carried_out(
    machine: Machine, driver: LinkDriver
) -> None:
    """An upgrade does not stop the pods that were prepared before it."""
    made = prepare(machine, driver, Attack(plugins=({**MACVLAN, "master": "own1"},)))
    plan = edited(made, level=None, trusted=None, files=None, wishes=None)
    with unharmed(machine):
        attach(machine, driver, plan)
        detach(machine, driver, plan)
