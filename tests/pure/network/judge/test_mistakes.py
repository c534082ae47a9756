"""What is checked of a request's network before it is used for the first time."""

from pathlib import Path
from typing import Any

import pytest

from netclaim.network.errors import ParametersError
from netclaim.network.judge.mistakes import config_faults, guessed_type
from netclaim.network.judge.request import permit
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from netclaim.plugins import PLUGIN_TYPES
from tests.support.network_parts import TYPED, WHERE, claim_of, config_of

PAGE = (Path(__file__).parents[4] / "docs" / "parameters.md").read_text()
PLUGIN = f"{WHERE}.config.plugins[0]"


def asked(*plugins: dict[str, Any], **beside: Any) -> InterfaceRequest:
    """A claim for a network of these plugins, with keys beside it."""
    network = {"cniVersion": "1.0.0", "name": "mine", "plugins": list(plugins)}
    (request,) = read_claim(claim_of(config_of({**TYPED, "config": network, **beside}, "net")))
    return request


def pool(*subnets: str, **keys: Any) -> dict[str, Any]:
    """A macvlan with a set of ranges for each subnet."""
    ranges = [[{"subnet": subnet, **keys}] for subnet in subnets]
    return {"type": "macvlan", "ipam": {"type": "host-local", "ranges": ranges}}


def test_every_plugin_of_a_list_is_checked() -> None:
    """Each mistake has the path of its plugin."""
    faults = config_faults(asked(pool("10.1.0.0/33"), {"type": "tuning", "txqln": 1}))
    assert [str(fault).partition(": ")[0] for fault in faults] == [
        f"{PLUGIN}.ipam.ranges[0][0].subnet",
        f"{WHERE}.config.plugins[1].txqln",
    ]


@pytest.mark.parametrize("key", ["hwaddr", "kernelpath", "pciBusID"])
def test_the_link_is_named_by_its_allocation(key: str) -> None:
    """A claim's host-device cannot find its link in another way: prepare would refuse it."""
    value = "02:00:00:00:00:01" if key == "hwaddr" else "x"
    (fault,) = config_faults(asked({"type": "host-device", key: value}))
    assert str(fault) == f"{PLUGIN}.{key}: leave it out: the allocated link is used"


@pytest.mark.parametrize(
    ("plugin", "ips", "expected"),
    [
        (pool("10.1.0.0/24"), ["10.1.0.9/24"], []),
        (pool("10.1.0.0/24", "fd00::/64"), ["fd00::9", "10.1.0.9"], []),
        (
            pool("10.1.0.0/24"),
            ["10.2.0.9"],
            ["ips[0]: 10.2.0.9 is outside of the network's ranges, 10.1.0.1-10.1.0.254"],
        ),
        (
            pool("10.1.0.0/24", rangeEnd="10.1.0.5"),
            ["10.1.0.9"],
            ["ips[0]: 10.1.0.9 is outside of the network's ranges, 10.1.0.1-10.1.0.5"],
        ),
        (
            pool("10.1.0.0/24"),
            ["10.1.0.9", "10.1.0.8"],
            ["ips[1]: 10.1.0.8 and 10.1.0.9 are in one set of ranges, which assigns one"],
        ),
        (pool("10.1.0.0/24"), ["10.1.0.1"], ["ips[0]: 10.1.0.1 is the gateway's address"]),
        (
            {"type": "macvlan"},
            ["10.1.0.1"],
            ["ips: no plugin of the network 'mine' (macvlan) supports it; leave it out"],
        ),
        (
            {"type": "macvlan", "ipam": {"type": "static"}},
            ["10.1.0.1"],
            ["ips: the network's addresses are static and need a prefix length; for "],
        ),
    ],
)
def test_addresses_are_among_those_that_can_be_given(
    plugin: dict[str, Any], ips: list[str], expected: list[str]
) -> None:
    """What host-local would refuse at ADD, whatever is taken, is refused before."""
    told = [str(fault).removeprefix(f"{WHERE}.") for fault in config_faults(asked(plugin, ips=ips))]
    assert [one[: len(start)] for one, start in zip(told, expected, strict=True)] == expected


def test_addresses_that_a_program_gives_are_its_own_affair() -> None:
    """Where host-local, or the plugin that calls it, is executed, nobody here knows its ranges."""
    request = asked(pool("10.1.0.0/24"), ips=["10.2.0.9"])
    assert len(config_faults(request)) == 1
    for program in ("host-local", "macvlan"):
        assert config_faults(request, PLUGIN_TYPES - {program}) == []


def test_what_is_said_has_an_end() -> None:
    """A configuration of mistakes does not fill a node's log."""
    wrong = [{"type": "tuning", f"k{n}": 1, f"l{n}": 1, f"m{n}": 1} for n in range(20)]
    assert len(config_faults(asked(*wrong))) == 20


def test_a_great_many_ranges_take_no_time() -> None:
    """Each is compared with every other, so more than some are left to ADD."""
    subnets = [f"10.{n // 200}.{n % 200}.0/24" for n in range(2000)]
    assert config_faults(asked(pool(*subnets), ips=["192.0.2.1"])) == []
    one_set = {"type": "host-local", "ranges": [[{"subnet": subnet} for subnet in subnets]]}
    assert config_faults(asked({"type": "macvlan", "ipam": one_set}, ips=["192.0.2.1"])) == []


def test_mistakes_and_refusals_are_raised_together() -> None:
    """Nothing more is said where a mistake is: an unknown key needs no level."""
    request = asked({"type": "macvlan", "bcqueuelen": 9, "mod": "vepa", "mode": "sideways"})
    found = config_faults(request)
    with pytest.raises(ParametersError) as caught:
        permit(request, Standing(Level.BASELINE, "team-a"), found=found)
    told = [str(fault).removeprefix(f"{PLUGIN}.") for fault in caught.value.faults]
    assert [one.partition(";")[0] for one in told] == [
        'mode: "sideways" is not one of private, vepa, bridge, passthru',
        'mod: unknown key "mod"',
        "bcqueuelen: needs the policy level privileged, but namespace 'team-a' has baseline",
    ]


def test_a_type_that_is_nearly_known_is_guessed() -> None:
    """One that is like none of ours is a program, and so is one that we have."""
    assert guessed_type("macvln") == '; did you mean "macvlan"?'
    assert guessed_type("hostlocal", ipam=True) == '; did you mean "host-local"?'
    assert guessed_type("macvlan") == guessed_type("portmap") == ""


@pytest.mark.parametrize(
    ("plugin", "beside"),
    [
        ({"type": "tuning", "sysctls": {}}, {}),
        ({"type": "vlan", "vlanId": 5000}, {}),
        ({"type": "macvlan", "mode": "sideways"}, {}),
        (pool("10.1.0.0/33"), {}),
        (pool("10.1.0.5/24"), {}),
        ({"type": "macvlan", "ipam": {"type": "host-local", "ranges": [{"subnet": "x"}]}}, {}),
        ({"type": "vlan", "vlanId": 7}, {}),
        (pool("10.1.0.0/24"), {"ips": ["10.2.0.9"]}),
    ],
)
def test_every_kind_of_mistake_is_in_the_documentation(
    plugin: dict[str, Any], beside: dict[str, Any]
) -> None:
    """The page on parameters shows what is said."""
    (fault,) = config_faults(asked(plugin, **beside))
    assert f"`{str(fault).removeprefix(f'{WHERE}.')}`" in PAGE


@pytest.mark.parametrize(
    ("plugins", "beside", "path"),
    [
        ([{"type": "host-device", "vfio": True, "keep": ["routes"]}], {}, f"{PLUGIN}.keep"),
        (
            [{"type": "host-device", "vfio": True}, {"type": "tuning", "mtu": 1400}],
            {},
            f"{WHERE}.config.plugins[1].type",
        ),
        (
            [{"type": "host-device"}],
            {"vfio": True, "routes": [{"destination": "10.0.0.0/8"}]},
            f"{WHERE}.routes",
        ),
    ],
)
def test_a_program_that_has_the_hardware_has_no_interface(
    plugins: list[dict[str, Any]], beside: dict[str, Any], path: str
) -> None:
    """What would change one is refused, with its path; without `vfio`, nothing is."""
    (fault,) = config_faults(asked(*plugins, **beside))
    assert str(fault).startswith(f"{path}: with vfio, a program gets the hardware and the pod has")
    plain = [{key: each[key] for key in each if key != "vfio"} for each in plugins]
    assert not config_faults(asked(*plain, **{k: beside[k] for k in beside if k != "vfio"}))
