"""What was judged of the keys beside `config` is what a plugin sees, in our dialect and dranet's.

Each key, with all keys inside of it, is written in every spelling. What the policy judges, what
comes out of the journal, what a plugin in process reads and what an executed one gets are compared.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
import pytest

from netclaim.errors import RequestError
from netclaim.model import ClaimRef, Plan
from netclaim.network.judge.request import permit
from netclaim.network.plan.interface_plan import InterfacePlan, read_plan
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing
from netclaim.network.request.dranet import BESIDE, INTERFACE, SAME
from netclaim.network.request.into_config.added import VRF, VrfKeys
from netclaim.network.request.into_config.wishes import WISHES
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from netclaim.plugins.engine.conf import lowered, read_conf
from netclaim.plugins.engine.key_rules import declared, keys_within
from netclaim.plugins.host_device.device_lookup import HostDeviceConf
from netclaim.plugins.host_device.vf_keys import VfKeys
from netclaim.plugins.link_settings.conf import SettingsConf
from netclaim.plugins.registry import LINK_SETTINGS
from netclaim.plugins.types.vrf import VrfConf
from tests.pure.network.judge.test_same_reading import SPELLINGS, seen_executed, seen_in_process
from tests.support.network_parts import TYPED, claim_of, config_of

ROUTE: Final = {
    "destination": "10.77.0.0/16",
    "gateway": "10.99.0.1",
    "source": "10.99.0.5",
    "scope": 200,
    "table": 100,
    "priority": 5,
    "mtu": 1400,
}
RULE: Final = {"source": "10.1.0.0/16", "destination": "10.2.0.0/16", "table": 100, "priority": 7}
VALUES: Final[Mapping[str, Any]] = {
    "ips": ["10.99.0.5/24"],
    "mac": "02:00:00:00:00:01",
    "mtu": 1400,
    "routes": [ROUTE],
    "rules": [RULE],
    "neighbors": [{"destination": "10.99.0.9", "hardwareAddr": "02:00:00:00:00:09"}],
    "vrf": {"name": "blue", "table": 100},
    "ethtool": {"features": {"rx-gro": False}, "privateFlags": {"legacy-rx": True}},
    "gsoMaxSize": 65_000,
    "groMaxSize": 65_001,
    "gsoIPv4MaxSize": 65_002,
    "groIPv4MaxSize": 65_003,
    "disableEbpfPrograms": True,
    "vf": {
        "vlan": 100,
        "qos": 3,
        "proto": "802.1ad",
        "spoofCheck": True,
        "trust": True,
        "minTxRate": 10,
        "maxTxRate": 20,
        "linkState": "enable",
    },
    "vfio": True,
}
"""Every key beside `config` that asks something, with every key inside; none has its default."""

PRIVILEGED: Final = Standing(Level.PRIVILEGED, "team-a", link="eth1")
OWN: Final = Standing(Level.BASELINE, "team-a", link="eth1")
HOST_DEVICE: Final = {
    "cniVersion": "1.0.0",
    "name": "n",
    "plugins": [{"type": "host-device", "ipam": {"type": "static"}}, {"type": "tuning"}],
}


def spelt(value: Any, spell: Callable[[str], str], *, names: bool = False) -> Any:
    """A value with the keys inside in some spelling; `names` are of features, and stay."""
    if isinstance(value, list):
        return [spelt(each, spell) for each in value]
    if isinstance(value, dict):
        return {
            key if names else spell(key): spelt(
                each, spell, names=key in {"features", "privateFlags"}
            )
            for key, each in value.items()
        }
    return value


def ours(key: str, value: Any) -> dict[str, Any]:
    """The parameters in our dialect."""
    return {**TYPED, "ifName": "net1", "config": HOST_DEVICE, key: value}


def dranets(key: str, value: Any) -> dict[str, Any]:
    """The same in dranet's."""
    inside = {mine: theirs for theirs, mine in SAME.items()}
    interface: dict[str, Any] = {"name": "net1"}
    if key in BESIDE:
        return {INTERFACE: interface, key: value}
    return {INTERFACE: {**interface, inside[key]: value}}


def written() -> Iterator[tuple[str, str]]:
    """Every key in each dialect that has it."""
    for key in VALUES:
        yield "ours", key
        if key in {*BESIDE, *SAME.values()}:
            yield "dranet's", key


def asked(parameters: dict[str, Any]) -> InterfaceRequest:
    """What a claim asks for."""
    (request,) = read_claim(claim_of(config_of(parameters, "net")))
    return request


def through_journal(request: InterfaceRequest) -> InterfacePlan:
    """What attach reads of what prepare wrote."""
    interface = InterfacePlan(
        if_name="net1",
        config=request.network.to_dict(),
        link="eth1",
        wishes=request.wishes,
    )
    plan = Plan(ClaimRef("u", "ns", "c"), request.device, network=interface.to_json())
    return read_plan(msgspec.json.decode(msgspec.json.encode(plan), type=Plan))


def seen_by_plugins(configs: list[dict[str, Any]], key: str) -> list[Any]:
    """What the plugins read for a key, as their own classes have it."""
    found: list[Any] = []
    for config in configs:
        if key in {"ips", "mac"}:
            offered = config.get("runtimeconfig", {})
            found += [offered[key]] if key in offered else []
        elif key == "mtu":
            found += [config[key]] if key in config else []
        elif key == "vf" and config["type"] == "host-device":
            found.append(read_conf(config, HostDeviceConf).vf)
        elif key == "vfio" and config["type"] == "host-device":
            found.append(read_conf(config, HostDeviceConf).vfio)
        elif key == VRF and config["type"] == VRF:
            read = read_conf(config, VrfConf)
            found.append(VrfKeys(name=read.vrfname, table=read.table))
        elif config["type"] == LINK_SETTINGS:
            found.append(read_conf(config, SettingsConf))
    return found


def as_judged(key: str, value: Any) -> Any:
    """The same of a value as it is written, by the reader that the policy has."""
    if key in {"ips", "mac", "mtu", "vfio"}:
        return value
    if key in {"vf", VRF}:
        return read_conf(lowered(value), VfKeys if key == "vf" else VrfKeys)
    return read_conf(lowered({key: value}), SettingsConf)


def said_of(request: InterfaceRequest, standing: Standing) -> str:
    """What the policy says against a request."""
    try:
        permit(request, standing)
    except RequestError as error:
        return str(error)
    return ""


def test_every_key_beside_config_is_written() -> None:
    """With every key inside, so that a new one is compared as well."""
    assert {wish.name for wish in WISHES} == set(VALUES)
    inner = {
        each.name: {one.name for one in keys_within(each)[1].values()}
        for kind in (SettingsConf, HostDeviceConf)
        for each in declared(kind).values()
        if each.name in VALUES
    }
    for name, keys in inner.items():
        value = VALUES[name][0] if isinstance(VALUES[name], list) else VALUES[name]
        assert keys == set(value if isinstance(value, dict) else ()), name


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(("dialect", "key"), list(written()))
def test_what_was_judged_beside_config_is_what_a_plugin_sees(
    dialect: str, key: str, spelling: str
) -> None:
    """In each spelling an inner key is the one of the class, or it is refused."""
    write = ours if dialect == "ours" else dranets
    plain = asked(write(key, VALUES[key]))
    try:
        request = asked(write(key, spelt(VALUES[key], SPELLINGS[spelling])))
    except RequestError:
        assert spelling != "as it is"
        return
    interface = through_journal(request)
    assert interface.wishes == request.wishes
    for configs in (seen_in_process(interface), seen_executed(interface)):
        assert seen_by_plugins(configs, key) == [as_judged(key, VALUES[key])]
    for standing in (PRIVILEGED, OWN):
        assert said_of(request, standing) == said_of(plain, standing)


@pytest.mark.parametrize(("dialect", "key"), list(written()))
def test_two_spellings_of_an_inner_key_are_refused(dialect: str, key: str) -> None:
    """Whichever comes last."""
    value = VALUES[key]
    holder = value[0] if isinstance(value, list) else value
    if not isinstance(holder, dict):
        return
    write = ours if dialect == "ours" else dranets
    for inner in holder:
        for twice in ({**holder, inner.upper(): holder[inner]}, {inner.upper(): None, **holder}):
            with pytest.raises(RequestError):
                asked(write(key, [twice] if isinstance(value, list) else twice))
