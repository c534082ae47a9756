"""What a claim is permitted, by its level and its link."""

import ipaddress
from typing import Any

import pytest

from netclaim.network.errors import ParametersError, PolicyError
from netclaim.network.judge.request import permit
from netclaim.network.policy.levels import LABEL, Level
from netclaim.network.policy.standing import Standing
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from tests.support.network_parts import MACVLAN, TYPED, WHERE, claim_of, config_of

PLUGIN = f"{WHERE}.config.plugins[0]"
OWN = Standing(Level.BASELINE, "team-a", link="eth1")
SHARED = Standing(Level.BASELINE, "team-a", link="eth1", shared="others have eth1 too")
UPLINK = Standing(
    Level.BASELINE,
    "team-a",
    link="eth0",
    carries="the default route",
    node_networks=(ipaddress.ip_network("172.18.0.0/16"), ipaddress.ip_network("fd00::/64")),
)
RESTRICTED = Standing(Level.RESTRICTED, "team-a", link="eth1")
PRIVILEGED = Standing(Level.PRIVILEGED, "team-a", link="eth1")
ASK = (
    f"leave it out, or ask a cluster admin to set it in the DeviceClass or to label the "
    f"namespace {LABEL}=privileged"
)


def network(*plugins: dict[str, Any]) -> dict[str, Any]:
    """A network of these plugins."""
    return {"cniVersion": "1.0.0", "name": "mine", "plugins": list(plugins)}


def asked(
    claims: dict[str, Any] | None = None, classes: dict[str, Any] | None = None
) -> InterfaceRequest:
    """What a claim asks for, perhaps with a class that says something too."""
    base = {key: TYPED[key] for key in ("apiVersion", "kind")}
    configs = [config_of({**base, "ifName": "net1", **(claims or {})}, "net")]
    if classes is not None:
        configs.append(config_of({**base, **classes}, "net", source="FromClass"))
    (request,) = read_claim(claim_of(*configs))
    return request


def refused(request: InterfaceRequest, standing: Standing) -> list[str]:
    """What is said against a request; nothing if it is permitted."""
    try:
        permit(request, standing)
    except ParametersError as error:
        return [str(fault) for fault in error.faults]
    except PolicyError as error:
        return [str(error)]
    return []


def of(*plugins: dict[str, Any]) -> InterfaceRequest:
    """A claim's own network."""
    return asked({"config": network(*plugins)})


HOST_LOCAL = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
ANYWHERE: list[dict[str, Any]] = [
    {"type": "macvlan", "ipam": HOST_LOCAL},
    {"type": "macvlan", "mode": "private", "mtu": 1400, "linkInContainer": False, "bcqueuelen": 0},
    {"type": "macvlan", "ipam": {"type": "static", "addresses": [{"address": "10.1.1.1/24"}]}},
    {"type": "macvlan", "ipam": {}, "dns": {"nameservers": ["10.0.0.1"]}},
    {"type": "dummy"},
    {"type": "tap", "mac": "02:00:00:00:00:01", "owner": 1000},
    {"type": "tuning", "sysctl": {"net.ipv4.conf.IFNAME.arp_notify": "1"}},
    {"type": "tuning", "sysctl": {"net/ipv4/conf/net1/arp_notify": "1"}},
    {"type": "sbr", "table": 100},
    {"type": "vrf", "vrfname": "blue"},
]
ON_A_LINK_OF_ITS_OWN: list[dict[str, Any]] = [
    {"type": "macvlan", "mode": "passthru"},
    {"type": "macvlan", "mac": "02:00:00:00:00:01"},
    {"type": "ipvlan", "mode": "l3"},
    {"type": "vlan", "vlanId": 7},
    {"type": "host-device"},
    {"type": "tuning", "mac": "02:00:00:00:00:01"},
    {"type": "tuning", "promisc": True},
    {"type": "tuning", "allmulti": True},
]
NEVER: list[tuple[dict[str, Any], str]] = [
    ({"type": "bridge"}, "type"),
    ({"type": "ptp", "ipam": HOST_LOCAL}, "type"),
    ({"type": "bandwidth", "ingressRate": 5}, "type"),
    ({"type": "portmap"}, "type"),
    ({"type": "host-local"}, "type"),
    ({"type": "macvlan", "bcqueuelen": 9}, "bcqueuelen"),
    ({"type": "macvlan", "linkInContainer": True}, "linkInContainer"),
    ({"type": "macvlan", "linkInContainer": "yes"}, "linkInContainer"),
    ({"type": "macvlan", "mode": ["bridge"]}, "mode"),
    ({"type": "macvlan", "speed": 1}, "speed"),
    ({"type": "macvlan", "runtimeConfig": {"mac": "02:00:00:00:00:01"}}, "runtimeConfig"),
    ({"type": "macvlan", "args": {"cni": {}}}, "args"),
    ({"type": "macvlan", "prevResult": {"cniVersion": "1.0.0"}}, "prevResult"),
    ({"type": "macvlan", "capabilities": {"mac": True}}, "capabilities"),
    ({"type": "macvlan", "ipam": {**HOST_LOCAL, "dataDir": "/etc"}}, "ipam.dataDir"),
    ({"type": "macvlan", "ipam": {**HOST_LOCAL, "resolvConf": "/x"}}, "ipam.resolvConf"),
    ({"type": "macvlan", "ipam": {"type": "other-ipam"}}, "ipam.type"),
    (
        {"type": "macvlan", "ipam": {"type": "dhcp", "provide": [{"option": "61", "value": "x"}]}},
        "ipam.provide",
    ),
    ({"type": "macvlan", "ipam": {"type": "macvlan"}}, "ipam.type"),
    ({"type": "macvlan", "ipam": {**HOST_LOCAL, "daemon": 1}}, "ipam.daemon"),
    ({"type": "host-device", "pciBusID": "0000:00:1f.6"}, "pciBusID"),
    ({"type": "tap", "selinuxContext": "x"}, "selinuxContext"),
    ({"type": "tuning", "dataDir": "/etc"}, "dataDir"),
    *(
        ({"type": "tuning", "sysctl": {name: "1"}}, f"sysctl[{name}]")
        for name in (
            "net.ipv4.ip_forward",
            "net.core.somaxconn",
            "net.ipv4.conf.all.forwarding",
            "net.ipv4.conf.IFNAME.forwarding",
            "net.ipv4.conf.eth0.arp_notify",
            "net/ipv4/conf/../ip_forward",
            "net.ipv4/conf/IFNAME/arp_notify",
            "kernel.panic",
        )
    ),
]


@pytest.mark.parametrize("plugin", ANYWHERE)
@pytest.mark.parametrize("standing", [OWN, SHARED, UPLINK])
def test_baseline_allows_what_stays_in_the_pod(plugin: dict[str, Any], standing: Standing) -> None:
    """What neither the node nor others notice is a claim's own affair, on every link."""
    assert refused(of(plugin), standing) == []


@pytest.mark.parametrize("plugin", ON_A_LINK_OF_ITS_OWN)
def test_some_things_need_a_link_of_ones_own(plugin: dict[str, Any]) -> None:
    """What the link's other users would notice is allowed where there are none."""
    assert refused(of(plugin), OWN) == []
    (said,) = refused(of(plugin), SHARED)
    assert said.endswith(
        f"needs a link that the claim has to itself, but others have eth1 too; {ASK}"
    )
    assert any("carries the node" in said for said in refused(of(plugin), UPLINK))


@pytest.mark.parametrize(("plugin", "key"), NEVER)
def test_the_rest_needs_privileged(plugin: dict[str, Any], key: str) -> None:
    """What reaches the node is refused with the key's path, and passes where all is allowed."""
    (said,) = refused(of(plugin), OWN)
    assert said.startswith(f"{PLUGIN}.{key}: ")
    assert refused(of(plugin), PRIVILEGED) == []


def test_a_refusal_names_key_level_and_who_can_grant_it() -> None:
    """One line says what to change, what it would need and whom to ask."""
    assert refused(of({"type": "macvlan", "bcqueuelen": 9}), OWN) == [
        (
            f"{PLUGIN}.bcqueuelen: needs the policy level privileged, but namespace 'team-a' has "
            f"baseline; {ASK}"
        )
    ]
    assert refused(of({"type": "macvlan", "mod": "bridge"}), OWN) == [
        (
            f'{PLUGIN}.mod: unknown key "mod"; did you mean "mode"? (at the policy level baseline '
            f"only known keys may be set)"
        )
    ]


def test_all_refusals_are_told_at_once() -> None:
    """Nobody has to find out one key at a time."""
    said = refused(of({"type": "macvlan", "bcqueuelen": 9}, {"type": "sdn"}), OWN)
    assert len(said) == 2


def test_programs_need_the_admins_list() -> None:
    """A type that is executed may be named where an admin lists it, but not told all."""
    listed = Standing(Level.BASELINE, "team-a", claim_plugins=frozenset({"sdn", "dhcp"}))
    assert refused(of({"type": "sdn", "whatever": 1, "ipam": {"type": "dhcp"}}), listed) == []
    assert len(refused(of({"type": "sdn", "runtimeConfig": {"a": 1}}), listed)) == 1
    assert len(refused(of({"type": "sdn"}), OWN)) == 1


def test_a_chain_has_an_end() -> None:
    """A claim's network may have eight plugins."""
    many = [{"type": "macvlan"}, *[{"type": "tuning"}] * 8]
    (said,) = refused(of(*many), OWN)
    assert said == (
        f"{WHERE}.config.plugins[8]: the network has 9 plugins; a claim's network may have at "
        f"most 8"
    )
    assert refused(of(*many), PRIVILEGED) == []


@pytest.mark.parametrize(
    "ipam",
    [
        {"type": "static", "addresses": [{"address": "172.18.0.1/32"}]},
        {"type": "static", "addresses": [{"address": "::ffff:172.18.0.1/120"}]},
        {"type": "static", "addresses": [{"address": "fd00::7/64"}]},
        {"type": "host-local", "subnet": "172.18.3.0/24"},
        {"type": "host-local", "ranges": [[{"subnet": "172.16.0.0/12"}]]},
    ],
)
def test_the_nodes_own_network_is_not_for_claims(ipam: dict[str, Any]) -> None:
    """On the link that carries the node, an address of the node's network would be another's."""
    request = of({"type": "macvlan", "ipam": ipam})
    (said,) = refused(request, UPLINK)
    assert "the node's own network on the link 'eth0', which carries the node" in said
    assert refused(request, SHARED) == []
    assert (
        refused(request, Standing(Level.PRIVILEGED, "a", node_networks=UPLINK.node_networks)) == []
    )


@pytest.mark.parametrize(
    "plugin", [{"type": "host-device"}, {"type": "macvlan", "mode": "passthru"}]
)
@pytest.mark.parametrize("level", list(Level))
def test_a_link_that_carries_the_node_stays(plugin: dict[str, Any], level: Level) -> None:
    """It is given away by a class in a privileged namespace, and by nobody else."""
    standing = Standing(level, "team-a", link="eth0", carries="the default route")
    by_claim = of(plugin)
    by_class = asked(classes={"config": network(plugin)})
    assert any("cannot be given to a pod" in said for said in refused(by_claim, standing))
    assert (refused(by_class, standing) == []) is (level is Level.PRIVILEGED)


def test_restricted_leaves_the_name() -> None:
    """A claim of a restricted namespace has its class's network under a name of its own."""
    assert refused(asked(classes={"config": MACVLAN}), RESTRICTED) == []
    (said,) = refused(asked({"config": MACVLAN}), RESTRICTED)
    assert said.startswith(f"{WHERE}.config: needs the policy level baseline")
    (said,) = refused(asked({"mtu": 1400}, {"config": MACVLAN}), RESTRICTED)
    assert said == (
        f"{WHERE}.mtu: the DeviceClass does not let claims set it; leave it out, or ask a cluster "
        f"admin to add mtu to the class's `allow`"
    )


@pytest.mark.parametrize("standing", [RESTRICTED, OWN, SHARED])
def test_a_class_says_what_claims_may_set(standing: Standing) -> None:
    """What a class allows passes at every level, and what it does not allow at none but one."""
    wishes = {"ips": ["10.10.1.9/24"], "mac": "02:00:00:00:00:01", "mtu": 1400}
    allowing = {"config": MACVLAN, "allow": ["ips", "mac", "mtu"]}
    assert refused(asked(wishes, allowing), standing) == []
    assert len(refused(asked(wishes, {**allowing, "allow": []}), standing)) == 3
    assert len(refused(asked(wishes, {"config": MACVLAN}), standing)) == 3
    assert refused(asked(wishes, {"config": MACVLAN}), PRIVILEGED) == []


def test_a_class_with_a_network_fixes_it() -> None:
    """A claim replaces its class's network only where the class says so, and then within limits."""
    own = network({"type": "macvlan"})
    assert len(refused(asked({"config": own}, {"config": MACVLAN}), OWN)) == 1
    allowing = {"config": MACVLAN, "allow": ["config"]}
    assert refused(asked({"config": own}, allowing), RESTRICTED) == []
    bridged = network({"type": "bridge"})
    assert len(refused(asked({"config": bridged}, allowing), OWN)) == 1


def test_wishes_beside_a_network_of_ones_own() -> None:
    """Without a class's network, a wish needs what the same key in the network needs."""
    wishes = {"config": MACVLAN, "mac": "02:00:00:00:00:01"}
    assert refused(asked(wishes), OWN) == []
    (said,) = refused(asked(wishes), SHARED)
    assert said.startswith(f"{WHERE}.mac: needs a link that the claim has to itself")
    taken = {"config": MACVLAN, "ips": ["172.18.0.1"]}
    assert refused(asked(taken), SHARED) == []
    (said,) = refused(asked(taken), UPLINK)
    assert said.startswith(f"{WHERE}.ips: 172.18.0.1/32 overlaps 172.18.0.0/16")


def test_one_plugin_makes_the_interface() -> None:
    """A second one would fail, and undoing it would remove what the first has made or moved."""
    (said,) = refused(of({"type": "host-device"}, {"type": "tap"}), OWN)
    assert said == (
        f"{WHERE}.config.plugins[1].type: tap creates an interface, but host-device already "
        f"creates one; remove one of the two"
    )
    assert len(refused(of({"type": "tuning"}, {"type": "macvlan"}), OWN)) == 1
    assert refused(of({"type": "macvlan"}, {"type": "tuning"}, {"type": "sbr"}), OWN) == []


def test_no_class_allows_the_nodes_own_address() -> None:
    """A class that lets claims choose their addresses does not mean those of the node."""
    standing = Standing(Level.RESTRICTED, "a", link="eth1", node_addresses=frozenset({"10.10.1.9"}))
    allowing = {"config": MACVLAN, "allow": ["ips"]}
    assert refused(asked({"ips": ["10.10.1.8"]}, allowing), standing) == []
    assert refused(asked({"ips": ["10.10.1.9/24"]}, allowing), standing) == [
        f"{WHERE}.ips: 10.10.1.9 is the node's own address on the link 'eth1'; choose another"
    ]


def test_a_network_has_so_many_subnets() -> None:
    """Ranges are compared with each other, so there is an end to them."""
    ranges = [[{"subnet": f"10.{number}.0.0/24"}] for number in range(33)]
    request = of({"type": "macvlan", "ipam": {"type": "host-local", "ranges": ranges}})
    (said,) = refused(request, OWN)
    assert said == (
        f"{PLUGIN}.ipam: has 33 subnets and addresses; a claim's network may have at most 32"
    )
    assert refused(request, PRIVILEGED) == []


@pytest.mark.parametrize(
    ("ipam", "message"),
    [
        (
            {**HOST_LOCAL, "routes": [{"dst": f"10.{n}.0.0/16"} for n in range(65)]},
            "ipam.routes: has 65 routes; a claim's network may have at most 64",
        ),
        (
            {**HOST_LOCAL, "routes": [{"dst": "10.0.0.0/8", "gw": "10.0.0.1" + " " * 4096}]},
            "bytes; a claim's network may have at most 4096",
        ),
    ],
)
def test_a_network_has_a_size(ipam: dict[str, Any], message: str) -> None:
    """What takes the node's time or memory has an end, at every level but privileged."""
    request = of({"type": "macvlan", "ipam": ipam})
    (said,) = refused(request, OWN)
    assert message in said
    assert refused(request, PRIVILEGED) == []


def test_unknown_keys_are_told_up_to_a_number() -> None:
    """Mistakes by the hundred get a few lines, and a key of a kilobyte is cut."""
    keys = {f"{'x' * 90}{number}": 1 for number in range(20)}
    said = refused(of({"type": "macvlan", **keys}), OWN)
    assert len(said) == 6
    assert said[-1] == f"{PLUGIN}: has 15 more unknown keys"
    assert all(len(each) < 300 for each in said)


def test_a_plugin_that_is_nearly_known_is_guessed() -> None:
    """A misspelt type is not called a program of the node."""
    (said,) = refused(of({"type": "macvlann"}), OWN)
    assert said == f'{PLUGIN}.type: unknown plugin type "macvlann"; did you mean "macvlan"?'


def test_a_ceiling_is_named_where_a_label_does_not_help() -> None:
    """Nobody is sent to set a label that has no effect."""
    standing = Standing(Level.BASELINE, "team-a", link="eth1", ceiling=Level.BASELINE)
    (said,) = refused(of({"type": "macvlan", "bcqueuelen": 9}), standing)
    assert said.endswith(
        "or ask a cluster admin to set it in the DeviceClass; a namespace label cannot "
        "exceed --policy-ceiling, baseline"
    )
