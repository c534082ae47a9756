"""What a tenant writes is read, judged and spelt in time that grows with its length."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from netclaim.errors import NetclaimError
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.network.judge.mistakes import config_faults
from netclaim.network.judge.request import permit
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing
from netclaim.network.request.parameters import read_claim
from tests.support.growth import assert_linear

DRIVER = "cni.dra.networking.x-k8s.io"
HEAD = {"apiVersion": "cni.networking.x-k8s.io/v1alpha1", "kind": "CNI"}


def network(*plugins: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A conflist."""
    return {"cniVersion": "1.0.0", "name": "x", "plugins": list(plugins)} | keys


def macvlan(**keys: Any) -> dict[str, Any]:
    """A network of one plugin."""
    return network({"type": "macvlan", **keys})


def host_local(ranges: list[Any]) -> dict[str, Any]:
    """A network with leased addresses."""
    return macvlan(ipam={"type": "host-local", "ranges": ranges})


def static(**keys: Any) -> dict[str, Any]:
    """A network with addresses that are listed."""
    return macvlan(ipam={"type": "static", **keys})


def subnet(i: int) -> dict[str, str]:
    """The subnet of a number."""
    return {"subnet": f"10.{i // 250}.{i % 250}.0/24"}


WRITTEN: dict[str, Callable[[int], object]] = {
    "a key again and again": lambda n: "{" + ",".join(['"a":1'] * n) + "}",
    "keys twice, one after the other": lambda n: (
        "{" + ",".join(f'"a{i}":1,"a{i}":1' for i in range(n)) + "}"
    ),
    "keys twice in plugins": lambda n: (
        '{"plugins":[{' + ",".join(f'"a{i}":1,"a{i}":1' for i in range(n)) + "}]}"
    ),
    "sysctls": lambda n: network(
        {"type": "macvlan"},
        {"type": "tuning", "sysctl": {f"net.ipv4.conf.IFNAME.a{i}": "1" for i in range(n)}},
    ),
    "unknown keys": lambda n: macvlan(**{f"k{i}": 1 for i in range(n)}),
    "keys that fold": lambda n: macvlan(**{"\u017f" * 9 + str(i): 1 for i in range(n)}),
    "two spellings": lambda n: macvlan(**{f"k{i}": 1 for i in range(n)}, **{f"K{n - 1}": 1}),
    "routes": lambda n: static(routes=[{"dst": f"10.{i % 250}.0.0/16"} for i in range(n)]),
    "addresses": lambda n: static(addresses=[{"address": f"10.0.{i}.1/24"} for i in range(n)]),
    "ranges": lambda n: host_local([[subnet(i)] for i in range(n)]),
    "subnets of a range": lambda n: host_local([[subnet(i) for i in range(n)]]),
    "plugins": lambda n: network(*[{"type": "sbr"}] * n),
    "plugins of the node": lambda n: network(*[{"type": f"own{i}"} for i in range(n)]),
    "versions": lambda n: macvlan() | {"cniVersions": ["1.0.0"] * n},
    "capabilities": lambda n: macvlan(capabilities={f"c{i}": True for i in range(n)}),
    "arguments": lambda n: macvlan(args={"cni": {f"c{i}": 1 for i in range(n)}}),
    "name servers": lambda n: macvlan(dns={"nameservers": ["10.0.0.1"] * n}),
    "lists in lists": lambda n: macvlan(x=[[[[[]]]]] * n),
}


BESIDE: dict[str, Callable[[int], dict[str, object]]] = {
    "routes": lambda n: {"routes": [{"destination": f"10.{i % 250}.0.0/16"} for i in range(n)]},
    "keys of a route": lambda n: {"routes": [{f"k{i:04}": 1 for i in range(n)}]},
    "rules": lambda n: {"rules": [{"source": "10.1.0.0/16", "table": i + 1} for i in range(n)]},
    "neighbors": lambda n: {"neighbors": [{"destination": f"10.0.{i % 250}.1"} for i in range(n)]},
    "features": lambda n: {"ethtool": {"features": {f"f{i}": True for i in range(n)}}},
    "keys of vrf": lambda n: {"vrf": {f"k{i:04}": 1 for i in range(n)}},
    "keys of vf": lambda n: {"vf": {f"k{i:04}": 1 for i in range(n)}},
    "lists in lists": lambda n: {"routes": [[[[[[]]]]]] * n},
}
"""Of parameters beside `config`; of others, only so much is read."""

INSIDE: dict[str, Callable[[int], dict[str, object]]] = {
    "unknown keys": lambda n: {f"k{i:04}": 1 for i in range(n)},
    "keys of vrf": lambda n: {"vrf": {f"k{i:04}": 1 for i in range(n)}},
}
"""Of dranet's `interface`."""


DRANETS = [each for each in BESIDE if each not in {"keys of vrf", "keys of vf"}]


def claim_of(config: object) -> Claim:
    """A claim with one device and this configuration."""
    return claim_with({**HEAD, "ifName": "net1", "config": config})


def claim_with(parameters: dict[str, object]) -> Claim:
    """A claim with one device and these parameters."""
    return Claim(
        uid="uid",
        namespace="tenant",
        name="claim",
        allocated=True,
        requests=("nic",),
        devices=(AllocatedDevice(request="nic", driver=DRIVER, pool="node", device="eth1"),),
        configs=(OpaqueConfig("FromClaim", DRIVER, parameters, ("nic",)),),
    )


def look_at(claim: Claim) -> str:
    """Do with a claim what prepare does before it knows the node."""
    try:
        for request in read_claim(claim):
            standing = Standing(Level.BASELINE, claim.namespace, link="eth1")
            permit(request, standing, found=config_faults(request))
    except NetclaimError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("form", ["text", "object"])
@pytest.mark.parametrize("what", WRITTEN)
def test_text_of_a_claim(what: str, form: str) -> None:
    """Twice the text is twice the work, in whatever it consists."""

    def work_of(n: int) -> Callable[[], object]:
        config = WRITTEN[what](n)
        if form == "text" and not isinstance(config, str):
            config = json.dumps(config)
        return partial(look_at, claim_of(config))

    assert_linear(work_of, 48)


@pytest.mark.parametrize("what", BESIDE)
def test_parameters_beside_the_network(what: str) -> None:
    """They are read and judged in time that grows with their length, too."""

    def work_of(n: int) -> Callable[[], object]:
        return partial(
            look_at,
            claim_with({**HEAD, "ifName": "net1", "config": static(), **BESIDE[what](n)}),
        )

    assert_linear(work_of, 15)


@pytest.mark.parametrize("what", [*(f"interface: {each}" for each in INSIDE), *DRANETS])
def test_parameters_as_dranet_has_them(what: str) -> None:
    """In its dialect as well, inside `interface` and beside it."""
    inside = INSIDE.get(what.removeprefix("interface: ")) if ":" in what else None

    def work_of(n: int) -> Callable[[], object]:
        interface: dict[str, object] = {"name": "net1"}
        if inside is not None:
            return partial(look_at, claim_with({"interface": {**interface, **inside(n)}}))
        return partial(look_at, claim_with({"interface": interface, **BESIDE[what](n)}))

    assert_linear(work_of, 15)
