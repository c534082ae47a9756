"""What a network of Multus becomes: configurations of all kinds, as their projects show them."""

from typing import Any

import pytest

from netclaim.schema.rules.pod_networks import check_pod_network
from tests.pure.convert.converting import convert, converted, converted_file, definition, said

RANGE = {"type": "host-local", "subnet": "10.1.1.0/24"}
MACVLAN = {"cniVersion": "0.3.1", "type": "macvlan", "master": "eth1"}
ETH1 = {"name": "eth1"}
DEFAULT_LINK = {
    "selector": 'device.attributes["cni.dra.networking.x-k8s.io"].?defaultRoute.orValue(false)'
}

# A configuration, and what the PodNetwork says of the network itself.
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "macvlan with a range": (
        MACVLAN | {"mode": "bridge", "ipam": RANGE},
        {"type": "macvlan", "parent": ETH1, "mode": "bridge", "ipam": RANGE},
    ),
    "macvlan on the link of the default route": (
        {"type": "macvlan", "ipam": RANGE},
        {"type": "macvlan", "parent": DEFAULT_LINK, "ipam": RANGE},
    ),
    "keys in another case": (
        {
            "TYPE": "macvlan",
            "Master": "eth1",
            "IPAM": {"Type": "host-local", "SUBNET": "10.1.1.0/24"},
        },
        {"type": "macvlan", "parent": ETH1, "ipam": RANGE},
    ),
    "macvlan with an MTU and name servers": (
        MACVLAN | {"mtu": 1400, "ipam": RANGE, "dns": {"nameservers": ["10.1.1.1"]}},
        {
            "type": "macvlan",
            "parent": ETH1,
            "mtu": 1400,
            "ipam": RANGE,
            "dns": {"nameservers": ["10.1.1.1"]},
        },
    ),
    "macvlan that takes the link's MTU": (
        MACVLAN | {"mtu": 0, "ipam": RANGE},
        {"type": "macvlan", "parent": ETH1, "ipam": RANGE},
    ),
    "no addresses, as for virtual machines": (
        MACVLAN | {"ipam": {}},
        {"type": "macvlan", "parent": ETH1},
    ),
    "static addresses that pods choose, and tuning for their MACs": (
        {
            "cniVersion": "0.3.1",
            "plugins": [
                {
                    "type": "macvlan",
                    "capabilities": {"ips": True},
                    "master": "eth1",
                    "mode": "bridge",
                    "ipam": {"type": "static", "routes": [{"dst": "10.0.0.0/8", "gw": "10.1.1.1"}]},
                },
                {"capabilities": {"mac": True}, "type": "tuning"},
            ],
        },
        {
            "type": "macvlan",
            "parent": ETH1,
            "mode": "bridge",
            "ipam": {"type": "static", "routes": [{"dst": "10.0.0.0/8", "gw": "10.1.1.1"}]},
            "allow": ["ips", "mac"],
        },
    ),
    "a bandwidth that pods choose": (
        {"plugins": [MACVLAN, {"type": "bandwidth", "capabilities": {"bandwidth": True}}]},
        {"type": "macvlan", "parent": ETH1, "allow": ["bandwidth"]},
    ),
    "a program for addresses that pods choose": (
        MACVLAN | {"capabilities": {"ips": True}, "ipam": {"type": "calico-ipam"}},
        {
            "type": "cni",
            "parent": ETH1,
            "config": {
                "name": "net",
                "cniVersion": "0.3.1",
                "type": "macvlan",
                "capabilities": {"ips": True},
                "ipam": {"type": "calico-ipam"},
            },
            "allow": ["ips"],
        },
    ),
    "dhcp": (
        MACVLAN | {"ipam": {"type": "dhcp"}},
        {"type": "macvlan", "parent": ETH1, "ipam": {"type": "dhcp"}},
    ),
    "ipvlan": (
        {"type": "ipvlan", "master": "eth1", "mode": "l3", "ipam": RANGE},
        {"type": "ipvlan", "parent": ETH1, "mode": "l3", "ipam": RANGE},
    ),
    "vlan": (
        {"type": "vlan", "master": "eth1", "vlanId": 5, "linkInContainer": False, "ipam": RANGE},
        {"type": "vlan", "parent": ETH1, "vlan": 5, "ipam": RANGE},
    ),
    "bridge": (
        {"type": "bridge", "bridge": "mybr0", "ipam": RANGE},
        {"type": "bridge", "bridge": "mybr0", "ipam": RANGE},
    ),
    "bridge with a VLAN": (
        {"type": "bridge", "bridge": "mybr0", "vlan": 100, "ipam": {}},
        {"type": "bridge", "bridge": "mybr0", "vlan": 100},
    ),
    "bridge that is a gateway": (
        {"name": "b", "type": "bridge", "isGateway": True, "ipMasq": True, "ipam": RANGE},
        {
            "type": "cni",
            "config": {
                "name": "b",
                "type": "bridge",
                "isGateway": True,
                "ipMasq": True,
                "ipam": RANGE,
            },
        },
    ),
    "host-device by name": (
        {"type": "host-device", "device": "eth1"},
        {"type": "hostDevice", "parent": ETH1},
    ),
    "host-device by MAC": (
        {"type": "host-device", "hwaddr": "02:00:00:00:00:AB"},
        {
            "type": "hostDevice",
            "parent": {
                "selector": 'device.attributes["cni.dra.networking.x-k8s.io"].?mac.orValue("")'
                ' == "02:00:00:00:00:ab"'
            },
        },
    ),
    "host-device by PCI address": (
        {"type": "host-device", "pciBusID": "0000:3b:00.1"},
        {
            "type": "hostDevice",
            "parent": {
                "selector": 'device.attributes["resource.kubernetes.io"].?pciBusID.orValue("")'
                ' == "0000:3b:00.1"'
            },
        },
    ),
    "a chain that does more": (
        {
            "cniVersion": "1.0.0",
            "name": "routed",
            "plugins": [MACVLAN | {"ipam": RANGE}, {"type": "sbr"}],
        },
        {
            "type": "cni",
            "parent": ETH1,
            "config": {
                "name": "routed",
                "cniVersion": "1.0.0",
                "plugins": [
                    {"cniVersion": "0.3.1", "type": "macvlan", "ipam": RANGE},
                    {"type": "sbr"},
                ],
            },
        },
    ),
    "a program of the node": (
        {"type": "ovs", "bridge": "br-int", "vlan": 7},
        {"type": "cni", "config": {"name": "net", "type": "ovs", "bridge": "br-int", "vlan": 7}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_networks(case: str) -> None:
    """A network is typed where a PodNetwork has its keys, and is its configuration otherwise."""
    config, expected = CASES[case]
    (found,) = converted(definition("net", config))
    own = {
        "ifName": "net1",
        "namespaces": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
    }
    assert found["spec"] == expected | own
    assert not list(check_pod_network(found, ("spec",)))


# A configuration that stays with Multus, and what is said of it.
REFUSED: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "m.yaml:7: spec.config: is not JSON"),
    "no configuration": ("", "has no configuration, so Multus reads it from a file on each node"),
    "no object": ("[]", "spec.config: must be an object"),
    "no type": ({"name": "a"}, "spec.config.type: type is missing"),
    "no plugins": ({"plugins": []}, "spec.config.plugins: must be a list of at least one plugin"),
    "a plugin that is no object": ({"plugins": ["macvlan"]}, "plugins[0]: must be an object"),
    "a key twice": ('{"type": "macvlan", "type": "sriov"}', "the key 'type' appears twice"),
    "two spellings": ('{"type": "macvlan", "Type": "bridge"}', "are the same key to a CNI plugin"),
    "sriov": ({"type": "sriov", "vlan": 7}, "spec.config.type: sriov gets its device from a"),
    "OVN-Kubernetes": ({"type": "ovn-k8s-cni-overlay"}, "is served by OVN-Kubernetes for Multus"),
    "Multus in Multus": ({"type": "multus"}, "multus is Multus itself"),
    "a link of the pod": (
        {"type": "vlan", "master": "net1", "vlanId": 5, "linkInContainer": True, "ipam": RANGE},
        "spec.config.linkInContainer: needs an interface that another network made",
    ),
    "bond": (
        {"type": "bond", "linksInContainer": True, "links": [{"name": "net1"}, {"name": "net2"}]},
        "spec.config.linksInContainer: needs an interface that another network made",
    ),
    "a subnet with host bits": (
        MACVLAN | {"ipam": {"type": "host-local", "subnet": "10.1.1.5/24"}},
        "spec.config.ipam.subnet: subnet 10.1.1.5/24 has host bits; use 10.1.1.0/24",
    ),
    "a mode that does not exist": (MACVLAN | {"mode": "sideways"}, 'spec.config.mode: "sideways"'),
    "host-device without a link": ({"type": "host-device"}, "device is missing"),
    "an expression for a MAC": (
        {"type": "host-device", "hwaddr": '" || true || "'},
        "is not a MAC address",
    ),
    "deep": ('{"type":' * 5_000 + "1" + "}" * 5_000, "spec.config: is"),
    "control characters": ({"type": "mac\x1b[31mvlan"}, "spec.config"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_stays_with_multus(case: str) -> None:
    """A network that netclaim cannot run stays as it is, with the reason and the line."""
    config, words = REFUSED[case]
    conversion = convert(definition("net", config))
    (remark,) = conversion.remarks
    assert remark.lost
    assert words in str(remark)
    assert str(remark).isprintable()
    assert not conversion.replacements


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            MACVLAN | {"promiscuous": True, "ipam": RANGE},
            "spec.config.promiscuous: left out: macvlan has no such key, and passes over it",
        ),
        (
            MACVLAN | {"ipam": RANGE | {"range": "10.1.1.0/24"}},
            "spec.config.ipam.range: left out: host-local has no such key, and passes over it",
        ),
    ],
)
def test_what_to_know(config: Any, words: str) -> None:
    """What changes nothing, or needs something on the nodes, is said and not refused."""
    conversion = convert(definition("net", config))
    (remark,) = conversion.remarks
    assert words in str(remark)
    assert not remark.lost
    assert conversion.networks == 1


def test_lines_inside_a_configuration() -> None:
    """A fault inside a configuration of several lines has its own line, quoted or as a block."""
    quoted = (
        "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\n"
        'metadata: {name: a}\nspec:\n  config: \'{\n    "plugins": [\n      {\n'
        '        "type": "sriov"\n      }]}\'\n'
    )
    block = quoted.replace("'{", "|\n    {").replace("}'", "}")
    assert said(convert(quoted))[0].startswith("m.yaml:8: spec.config.plugins[0].type: ")
    assert said(convert(block))[0].startswith("m.yaml:9: spec.config.plugins[0].type: ")


def test_a_device_plugins_resource() -> None:
    """The annotation for a device plugin is named, because pods still request its resource."""
    annotations = {"k8s.v1.cni.cncf.io/resourceName": "example.com/nic"}
    conversion = convert(
        definition("net", {"type": "host-device", "device": "eth1"}, "", annotations)
    )
    assert "remove this resource from the requests of its pods" in said(conversion)[0]


def test_conf_as_talks_spell_it() -> None:
    """`spec.conf` is read as `spec.config`."""
    text = definition("net", MACVLAN | {"ipam": RANGE}).replace("config:", "conf:")
    (found,) = converted(text)
    assert found["spec"]["type"] == "macvlan"
    assert "conf" not in found["spec"]


def test_a_network_in_the_spelling_of_the_talks_stays() -> None:
    """A PodNetwork of `v1` is one already; it stays as it was written, beside what is converted."""
    talks = (
        "---\napiVersion: v1\nkind: PodNetwork\nmetadata: {name: media-net}\n"
        'spec: {provider: "myprovider.io/application"}\n'
    )
    text = converted_file(talks + definition("other", MACVLAN))
    assert text.startswith(talks)
    assert "name: other" in text
    assert said(convert(talks)) == []
