"""A topology file says what a cluster looks like, or gets one line that says what to change."""

import ipaddress
from pathlib import Path

import pytest

from netclaim.local.input.topology_file import TopologyError, load_topology
from netclaim.local.topology import DEFAULT_TOPOLOGY, Hardware, Link, Topology

NODES = "nodes: [one, two]\n"
CARD = "{name: ens1, ofMachine: true}"
PRIMARY = """\
networks:
- {name: main, subnet: 192.0.2.0/28, links: {one: eth0, two: eth0}}
"""


def test_default_is_the_seeds_cluster() -> None:
    """Three nodes, all with eth0, and eth1 on kind-worker alone."""
    topology = load_topology(DEFAULT_TOPOLOGY)
    assert topology.nodes == ("kind-control-plane", "kind-worker", "kind-worker2")
    assert topology.control_plane == "kind-control-plane"
    assert topology.networks[1].links == (Link("kind-worker", "eth1"),)
    assert [topology.links_of(node) for node in topology.nodes] == [
        ("eth0",),
        ("eth0", "eth1"),
        ("eth0",),
    ]
    assert [topology.address(node) for node in topology.nodes] == [
        "172.18.0.2",
        "172.18.0.3",
        "172.18.0.4",
    ]
    assert topology.gateway == "172.18.0.1"
    assert topology.pod_subnet("kind-worker") == "10.244.1.0/24"
    assert topology.uplink("kind-worker") == "eth0"


def test_node_may_have_several_links_on_a_network(tmp_path: Path) -> None:
    """A list of names gives as many links."""
    file = tmp_path / "t.yaml"
    file.write_text(NODES + PRIMARY + "- {name: fast, links: {two: [eth1, eth2]}}\n")
    assert load_topology(file).networks[1].links == (Link("two", "eth1"), Link("two", "eth2"))


def test_cards_of_the_machine_are_lent(tmp_path: Path) -> None:
    """They are what they are, whatever the network's other links are."""
    text = "- {name: fast, mtu: 9000, links: {two: [eth1, {name: ens1f0v0, ofMachine: true}]}}\n"
    found = read(tmp_path, NODES + PRIMARY + text)
    assert found.borrowed == (Link("two", "ens1f0v0", of_machine=True),)
    assert found.links_of("two") == ("eth0", "eth1", "ens1f0v0")
    assert read(tmp_path, NODES + PRIMARY).borrowed == ()


def read(tmp_path: Path, text: str) -> Topology:
    """Read a topology of this text."""
    file = tmp_path / "t.yaml"
    file.write_text(text)
    return load_topology(file)


def test_nodes_may_have_labels(tmp_path: Path) -> None:
    """A node is a name, or a name with labels."""
    found = read(tmp_path, "nodes: [one, {name: two, labels: {zone: a}}]\n" + PRIMARY)
    assert found.nodes == ("one", "two")
    assert found.labels == {"one": {}, "two": {"zone": "a"}}


def test_links_have_the_mtu_of_their_network_or_their_own(tmp_path: Path) -> None:
    """A network's MTU is for all its links that have none of their own."""
    text = "- {name: fast, mtu: 9000, links: {one: [eth1, {name: eth2, mtu: 1400}], two: eth1}}\n"
    found = read(tmp_path, NODES + PRIMARY + text)
    assert [link.mtu for link in found.networks[1].links] == [9000, 1400, 9000]
    assert [link.mtu for link in found.primary.links] == [None, None]


def test_links_may_look_like_hardware(tmp_path: Path) -> None:
    """Speed, NUMA node, PCIe root and RDMA device are the link's; true names that after it."""
    card = "{name: eth1, speed: 100000, numaNode: 1, pcieRoot: 'pci0000:3a', rdma: mlx5_0}"
    text = f"- {{name: fast, links: {{one: {card}, two: {{name: eth1, rdma: true}}}}}}\n"
    one, two = read(tmp_path, NODES + PRIMARY + text).networks[1].links
    assert one.hardware == Hardware(100000, 1, "pci0000:3a", "mlx5_0")
    assert two.hardware == Hardware(rdma_device="rdma-eth1")
    assert not Hardware(speed_mbps=10).is_card


def test_primary_network_may_have_both_families(tmp_path: Path) -> None:
    """Nodes and pods have an address of each family; the first one comes first."""
    both = "[192.0.2.0/28, 'fd00:18::/64']"
    found = read(tmp_path, NODES + PRIMARY.replace("192.0.2.0/28", both))
    assert found.gateways == ("192.0.2.1", "fd00:18::1")
    assert found.addresses("two") == ("192.0.2.3", "fd00:18::3")
    assert found.pod_subnets("two") == ("10.244.1.0/24", "fd00:10:244:1::/64")
    alone = read(tmp_path, NODES + PRIMARY.replace("192.0.2.0/28", "'fd00:18::/64'"))
    assert alone.primary_subnet == ipaddress.ip_network("fd00:18::/64")
    assert alone.pod_subnet("two") == "fd00:10:244:1::/64"


FAST = "- {name: fast, links: {two: %s}}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: [", ":2: not YAML"),
        (NODES + "networks: !!int many", ":2: invalid literal for int()"),
        (NODES + "networks: !unheard-of x", ":2: could not determine a constructor for the tag"),
        (NODES + "networks: !!timestamp soon", ":2: 'soon' does not fit its tag"),
        ("a: &a [*a]", ":1: an anchor contains an alias to itself"),
        ("a: 1\n---\nb: 2", ":2: there is a second document; this file must have only one"),
        ("[]", ":1: is not a map with the keys nodes, networks"),
        ("", ":1: is not a map with the keys nodes, networks"),
        (NODES, ":1: networks is missing"),
        (NODES + PRIMARY + "network: 1", ':4: network: unknown key "network"; did you mean "netw'),
        (NODES + PRIMARY + "x: 1", ':4: x: unknown key "x"; the keys are nodes, networks'),
        ("nodes: []\n" + PRIMARY, ":1: nodes: 0 nodes given; write 1 to 50"),
        ("nodes: one\n" + PRIMARY, ":1: nodes: is not a list"),
        ("nodes:\n- One\n" + PRIMARY, ':2: nodes[0]: "One" is not a node name'),
        ("nodes: [one, one]\n" + PRIMARY, ':1: nodes[1]: "one" is given twice; rename one'),
        ("nodes: [5]\n" + PRIMARY, ":1: nodes[0]: is not a map with the keys name, labels"),
        ("nodes: [{labels: {}}]\n" + PRIMARY, ":1: nodes[0]: name is missing"),
        (
            "nodes:\n- name: one\n  labels: {a: 1}\n" + PRIMARY,
            ":3: nodes[0].labels: is not a map of strings; for example",
        ),
        ("nodes: [{name: one, labels: {a b: c}}]\n" + PRIMARY, ":1: nodes[0].labels: Invalid"),
        (
            NODES + PRIMARY.replace("two: eth0", "three: eth0"),
            ':3: networks[0].links.three: unknown node "three"; the nodes are one, two',
        ),
        (NODES + PRIMARY + FAST % "eth0", ":4: networks[1].links.two: link eth0 is given twice"),
        (
            NODES + PRIMARY + "- {name: fast, links: {one: [%s], two: [%s]}}" % ((CARD,) * 2),
            ":4: networks[1].links.two: ens1 of this machine is given twice; it can be lent to one",
        ),
        (
            NODES + PRIMARY + "- {name: main, links: {}}",
            ':4: networks[1].name: "main" is given twice; rename one',
        ),
        (NODES + PRIMARY + "- {name: Fast, links: {}}", ':4: networks[1].name: "Fast" is not a n'),
        (NODES + PRIMARY + "- {links: {}}", ":4: networks[1]: name is missing"),
        (NODES + PRIMARY + FAST % "a/b", ':4: networks[1].links.two: "a/b" is not an interface'),
        (NODES + PRIMARY + FAST % "{name: e, mtu: 9}", ".mtu: must be a whole number from 68 to 6"),
        (NODES + PRIMARY + FAST % "{name: e, speed: 1G}", ".speed: must be a whole number from 1"),
        (NODES + PRIMARY + FAST % "{name: e, numa: 1}", 'unknown key "numa"; did you mean "numaN'),
        (NODES + PRIMARY + FAST % "{name: e, pcieRoot: x}", '"x" is not a PCIe root; for example'),
        (NODES + PRIMARY + FAST % "{name: e, rdma: 7}", ".rdma: write true, or the name of the R"),
        (
            NODES + PRIMARY + FAST % "{name: e, ofMachine: yes please}",
            ":4: networks[1].links.two.ofMachine: must be true or false",
        ),
        (
            NODES + PRIMARY + FAST % "{name: e, ofMachine: true, mtu: 1400, rdma: true}",
            ":4: networks[1].links.two.mtu: leave it out; a card of this machine is used as it is",
        ),
        (
            NODES + PRIMARY.replace("two: eth0", "two: {name: eth0, ofMachine: true}"),
            ":3: networks[0].links: a card of this machine cannot carry a node; list it in ano",
        ),
        (NODES + PRIMARY + FAST % "[e, {mtu: 1400}]", "networks[1].links.two[1]: name is missing"),
        (NODES + "networks: []", ":2: networks: write at least one; the first carries the nodes'"),
        (
            NODES + PRIMARY.replace("subnet: 192.0.2.0/28, ", ""),
            ":3: networks[0]: subnet is missing; the first network carries the nodes' addresses",
        ),
        (
            NODES + PRIMARY.replace(", two: eth0", ""),
            ':3: networks[0].links: node "two" has no link; every node needs one',
        ),
        (NODES + PRIMARY.replace("/28", "/30"), "192.0.2.0/30 is too small for 2 nodes"),
        (NODES + PRIMARY.replace("/28", "/99"), "networks[0].subnet: '192.0.2.0/99' does not"),
        (NODES + PRIMARY.replace("192.0.2.0/28", "7"), "networks[0].subnet: write a string"),
        (
            NODES + PRIMARY.replace("192.0.2.0/28", "[192.0.2.0/28, 192.0.3.0/28]"),
            "networks[0].subnet: two IPv4 subnets; write at most one of each family",
        ),
        (
            NODES + PRIMARY.replace("192.0.2.0/28", "'fd00::/64', mtu: 1000"),
            ":3: networks[0].mtu: must be a whole number from 1280 to 65535",
        ),
    ],
)
def test_mistake_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    """Every mistake names the file, the field and the remedy, in one line."""
    file = tmp_path / "t.yaml"
    file.write_text(text)
    with pytest.raises(TopologyError) as caught:
        load_topology(file)
    assert str(caught.value).startswith(f"{file}:")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_is_told(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(TopologyError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_topology(tmp_path / "nowhere.yaml")
