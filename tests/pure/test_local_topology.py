"""A topology file says what a cluster looks like, or gets one line that says what to change."""

from pathlib import Path

import pytest

from netclaim.local.topology import DEFAULT_TOPOLOGY, Link, TopologyError, load_topology

NODES = "nodes: [one, two]\n"
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: [", ":2: not YAML"),
        (NODES + "networks: !!int many", ":2: invalid literal for int()"),
        (NODES + "networks: !unheard-of x", ":2: could not determine a constructor for the tag"),
        (NODES + "networks: !!timestamp soon", ":2: 'soon' does not fit its tag"),
        ("a: &a [*a]", ":1: an anchor contains an alias to itself"),
        ("a: 1\n---\nb: 2", ":2: a second document; this file holds one"),
        ("[]", "Expected `object`, got `array`"),
        (NODES, "missing required field `networks`"),
        (NODES + PRIMARY + "extra: 1", "contains unknown field `extra`"),
        ("nodes: []\n" + PRIMARY, "nodes: 0 given; name 1 to 50"),
        ("nodes: [One]\n" + PRIMARY, "nodes: 'One' is no node name"),
        ("nodes: [one, one]\n" + PRIMARY, "nodes: 'one' is there twice; rename one"),
        (
            NODES + PRIMARY.replace("two: eth0", "three: eth0"),
            "networks[0].links: unknown node 'three'; the nodes are one, two",
        ),
        (
            NODES + PRIMARY + "- {name: fast, links: {two: eth0}}",
            "networks[1].links.two: duplicate link 'eth0'; rename one",
        ),
        (NODES + PRIMARY + "- {name: main, links: {}}", "networks[1].name: 'main' is there twice"),
        (NODES + PRIMARY + "- {name: Fast, links: {}}", "networks[1].name: 'Fast': use up to 12"),
        (
            NODES + PRIMARY + "- {name: fast, links: {two: a/b}}",
            "networks[1].links.two: 'a/b' cannot name an interface",
        ),
        (NODES + "networks: []", "networks[0].subnet: the first network carries the nodes"),
        (
            NODES + PRIMARY.replace(", two: eth0", ""),
            "networks[0].links: 'two' has no link; every node needs one here",
        ),
        (NODES + PRIMARY.replace("/28", "/30"), "192.0.2.0/30 is too small for 2 nodes"),
        (NODES + PRIMARY.replace("/28", "/99"), "networks[0].subnet: '99' is not a valid netmask"),
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
