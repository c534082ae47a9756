"""Parameters that are written as for dranet, on our driver."""

from typing import Any

import pytest

from netclaim.errors import RequestError
from netclaim.network.errors import ParametersError
from netclaim.network.request.into_config.wishes import with_wishes
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from tests.support.network_parts import TYPED, claim_of, config_of, device_of

WHERE = "spec.devices.config[net].opaque.parameters"
KEEP = ["addresses", "routes", "neighbors", "rules"]


def read(parameters: dict[str, Any], *devices: str) -> tuple[InterfaceRequest, ...]:
    """The interfaces of a claim with these parameters."""
    found = tuple(device_of("net", device) for device in devices or ("eth1",))
    return read_claim(claim_of(config_of(parameters, "net"), devices=found))


def plugins(parameters: dict[str, Any]) -> list[Any]:
    """The plugins that are run for it."""
    (request,) = read(parameters)
    network = with_wishes(request.network, request.wishes, request.wish_paths)
    return [dict(plugin.config) for plugin in network.plugins]


def faults(parameters: dict[str, Any]) -> list[str]:
    """What is said against parameters."""
    try:
        read(parameters)
    except ParametersError as error:
        return [str(fault) for fault in error.faults]
    except RequestError as error:
        return [str(error)]
    return []


def test_an_interface_with_everything() -> None:
    """The link goes into the pod, is tuned, and gets what our own parameters would give it."""
    interface = {
        "name": "fast0",
        "addresses": ["169.254.169.14/24"],
        "mtu": 4321,
        "hardwareAddr": "00:11:22:33:44:55",
        "gsoMaxSize": 40000,
        "groMaxSize": 50000,
        "gsoIPv4MaxSize": 30000,
        "groIPv4MaxSize": 20000,
        "disableEbpfPrograms": True,
        "forwarding": True,
        "arpIgnore": 1,
        "arpAnnounce": 2,
        "vrf": {"name": "blue", "table": 700},
        "dhcp": False,
    }
    beside = {
        "routes": [{"destination": "10.0.0.0/8", "gateway": "169.254.169.1"}],
        "rules": [{"source": "169.254.169.14/32", "table": 100, "priority": 5}],
        "neighbors": [{"destination": "169.254.169.1", "hardwareAddr": "02:00:00:00:00:01"}],
        "ethtool": {"features": {"rx-gro": False}, "privateFlags": {"legacy-rx": True}},
    }
    assert read({"interface": interface, **beside})[0].ifname == "fast0"
    assert plugins({"interface": interface, **beside}) == [
        {
            "type": "host-device",
            "ipam": {"type": "static"},
            "runtimeConfig": {"ips": ["169.254.169.14/24"], "mac": "00:11:22:33:44:55"},
        },
        {
            "type": "tuning",
            "mtu": 4321,
            "sysctl": {
                "net.ipv4.conf.IFNAME.forwarding": "1",
                "net.ipv6.conf.IFNAME.forwarding": "1",
                "net.ipv4.conf.IFNAME.arp_ignore": "1",
                "net.ipv4.conf.IFNAME.arp_announce": "2",
            },
        },
        {"type": "vrf", "vrfname": "blue", "table": 700},
        {
            "type": "link-settings",
            **beside,
            **{key: interface[key] for key in interface if "MaxSize" in key},
            "disableEbpfPrograms": True,
        },
    ]


def test_a_link_without_addresses_keeps_what_it_has() -> None:
    """As with dranet, what the node has on it follows it."""
    assert plugins({"interface": {"name": "fast0", "dhcp": False}}) == [
        {"type": "host-device", "keep": KEEP}
    ]
    assert plugins({"interface": {"name": "fast0", "mtu": 1400}})[1] == {
        "type": "tuning",
        "mtu": 1400,
    }


def test_a_server_gives_the_address() -> None:
    """Then the link leaves the node's addresses behind."""
    assert plugins({"interface": {"name": "fast0", "dhcp": True}}) == [
        {"type": "host-device", "ipam": {"type": "dhcp"}}
    ]


@pytest.mark.parametrize(
    ("devices", "names"),
    [
        (["eth1"], ["eth1"]),
        (["mlx5-6"], ["mlx5-6"]),
        (["eth0"], ["net0"]),
        (["a-device-with-a-long-name"], ["net0"]),
        (["eth1", "eth2"], ["net0", "net1"]),
    ],
)
def test_an_interface_without_a_name(devices: list[str], names: list[str]) -> None:
    """It is called like its device, or numbered where it cannot be."""
    found = read({"interface": {"mtu": 1400}}, *devices)
    assert [request.ifname for request in found] == names
    found = read({"routes": [{"destination": "10.0.0.0/8"}]}, *devices)
    assert [request.ifname for request in found] == names


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"interface": {"nam": "net1"}}, 'interface.nam: unknown key "nam"; did you mean "name"?'),
        ({"interface": {"name": "eth0"}}, "interface.name: the pod already has an interface"),
        ({"interface": {"name": 7}}, "interface.name: must be a string"),
        ({"interface": {"mtu": 10}}, "interface.mtu: must be a number from 68 to 65536"),
        (
            {"interface": {"hardwareAddr": "01:00:5e:00:00:01"}},
            "interface.hardwareAddr: 01:00:5e:00:00:01 is a multicast address",
        ),
        ({"interface": {"addresses": "10.1.1.1/24"}}, "interface.addresses: must be a list"),
        ({"interface": {"dhcp": "yes"}}, "interface.dhcp: must be true or false"),
        (
            {"interface": {"dhcp": True, "addresses": ["10.1.1.1/24"]}},
            "interface.dhcp: a server gives the address; leave dhcp or addresses out",
        ),
        (
            {"interface": {"ipvlan": {"mode": "l2"}}},
            "interface.ipvlan: write apiVersion, kind, and a config with an ipvlan plugin instead",
        ),
        ({"profile": "pods"}, "profile: netclaim asks no webhook for addresses; write them, or"),
        ({"interface": {"type": "IPVLAN"}}, "interface.type: write apiVersion, kind, and a conf"),
        ({"interface": {"arpIgnore": "yes"}}, "interface.arpIgnore: must be a number, or true"),
        ({"interface": {"vrf": {}, "gsoMaxSize": -1}}, "interface.gsoMaxSize: -1 is not between"),
        ({"interface": {"vrf": {"table": 5}}}, "interface.vrf.name: name is missing"),
        ({"interface": {}, "rout": []}, 'rout: unknown key "rout"; did you mean "routes"?'),
        (
            {"interface": {}, "neighbors": [{"ipAddress": "10.1.1.1"}]},
            'neighbors[0].ipAddress: unknown key "ipAddress"; known keys are destination',
        ),
        ({"interface": ["net1"]}, "interface: must be a string"),
        ({}, "interface: interface is missing; for example net1"),
    ],
)
def test_a_mistake_has_the_path_at_which_it_was_written(
    parameters: dict[str, Any], said: str
) -> None:
    """The code that reads the value in the end."""
    found = faults(parameters)
    assert any(each.startswith(f"{WHERE}.{said}") for each in found), found


def test_passthrough_is_what_is_done_in_any_case() -> None:
    """So it is no mistake to write it."""
    assert not faults({"interface": {"type": "Passthrough"}})


def test_a_class_may_speak_the_other_dialect() -> None:
    """What the claim does not say, its class does."""
    claim = claim_of(
        config_of({"interface": {"name": "fast0", "mtu": 1400}}, "net"),
        config_of({**TYPED, "routes": [{"destination": "10.0.0.0/8"}]}, source="FromClass"),
    )
    (request,) = read_claim(claim)
    assert request.ifname == "fast0"
    assert [plugin.type for plugin in request.network.plugins] == ["host-device", "tuning"]
    assert request.wishes.settings == {"routes": [{"destination": "10.0.0.0/8"}]}
    assert not request.trusted
