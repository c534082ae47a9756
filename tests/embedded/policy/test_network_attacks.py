"""The attacks again, by way of networks: a tenant's own, named in an annotation, and an admin's.

What the controller makes of an annotation, and what a PodNetwork says to the driver, are other ways
to the same judgement. Who refuses does not matter here: the controller may, before there is a
claim. The node, the victim and the files are as before, whatever is refused.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from netclaim.controller.annotated.names import ANNOTATION
from netclaim.controller.annotated.wanted import CLASS_NAME, Known, claim_of
from netclaim.errors import RequestError
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.api.own_kinds.pod_network import ALLOWABLE
from netclaim.model.claims.claim import JsonObject
from netclaim.network.driver import LinkDriver
from netclaim.network.pod_network import class_of, parameters_of
from netclaim.network.request.keys import PARAMETERS
from tests.embedded.policy.policy_attack import (
    Attack,
    attach,
    detach,
    driver_on,
    prepare,
    prepare_claim,
    unharmed,
)
from tests.embedded.policy.policy_machine import OWN, Machine, fresh_machine, inside
from tests.embedded.policy.policy_tables import ATTACKS, HOST_DEVICE
from tests.support.network_parts import DRIVER
from tests.support.networks import network

pytestmark = pytest.mark.embedded

NAME: Final = "media-net"
SELECTED: Final = re.compile(r'\.name == "([^"]+)"')
STATIC: Final = {"ipam": {"type": "static"}}
TEAM: Final = {"matchLabels": {"team": "media"}}
# What a user may write beside a network; the rest of ATTACKS' wishes is no key of an annotation.
CHOSEN: Final = frozenset({"ips", "mac"})
BESIDE: Final[Mapping[str, Any]] = {
    "ips": ["10.10.1.7/24"],
    "mac": "02:42:0a:0a:01:07",
    "mtu": 1400,
    "config": {"cniVersion": "1.0.0", "name": "mine", "plugins": [HOST_DEVICE]},
    "routes": [{"destination": "198.18.0.0/24"}],
    "rules": [{"source": "10.10.1.7", "table": 100}],
    "neighbors": [{"destination": "10.10.1.1", "hardwareAddr": "02:00:00:00:00:01"}],
    "vrf": {"name": "red"},
    "ethtool": {"features": {"rx-gro": False}},
    "gsoMaxSize": 65536,
    "groMaxSize": 65536,
    "gsoIPv4MaxSize": 65536,
    "groIPv4MaxSize": 65536,
    "disableEbpfPrograms": True,
    "vf": {"vlan": 100},
    "vfio": True,
    "allow": ["config"],
    "namespaces": {},
    "podNetwork": "other-net",
    "runtimeConfig": {"ips": ["192.0.2.10/24"]},
    "bandwidth": "100G",
}
ALLOWED: Final[tuple[tuple[str, ...], ...]] = (
    (),
    ("ips",),
    ("mac",),
    ("mtu",),
    ("bandwidth",),
    ("routes",),
    ALLOWABLE,
)
# The links that the scheduler may give to the attacker, and of which it gives a share.
OFFERED: Final = {OWN: None, "uplink": None, "addr1": None, "api1": None, "shared1": "a1b2"}
# What has no refusal by this way, because the controller's translation takes the attack out of it.
HARMLESS: Final = {
    "of the node: nine plugins": "those without a setting are left out",
    "runtime: capabilities on macvlan": "they are not passed on, but say what pods may choose",
    "runtime: capabilities on tuning": "likewise",
    "spelling: HWADDR": "it selects the link",
    "spelling: master with a long s": "likewise, and the link is one to share",
}
OF_A_TENANT: Final = {
    name: attack
    for name, attack in ATTACKS.items()
    if attack.of_class is None
    and attack.beside.keys() <= CHOSEN
    and not attack.admin_access
    and name not in HARMLESS
}
BESIDE_A_NETWORK: Final = {
    name: attack for name, attack in ATTACKS.items() if attack.of_class is None
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine that no attack may harm, so that one is enough for all."""
    with fresh_machine(tmp_path_factory.mktemp("machine")) as made:
        yield made
        assert made.victim_answers()


@pytest.fixture
def driver(machine: Machine, tmp_path: Path) -> LinkDriver:
    """The driver as it is built without settings."""
    return driver_on(machine, tmp_path / "state")


def annotated(attack: Attack) -> JsonObject:
    """The claim that the controller makes of the attack, if it makes one."""
    config = attack.claim().configs[0].parameters.get("config", {})
    text = config if isinstance(config, str) else json.dumps(config)
    chosen = {"name": NAME, "interface": attack.ifname, **attack.beside}
    meta = {"name": "p", "namespace": attack.namespace, "uid": "0123456789"}
    pod = {"metadata": {**meta, "annotations": {ANNOTATION: json.dumps([chosen])}}}
    there = {"metadata": {"name": NAME, "namespace": attack.namespace}, "spec": {"config": text}}
    known = Known({(attack.namespace, NAME): there}, {}, frozenset(), DRIVER)
    return claim_of(pod, known)


def allocated(attack: Attack, claim: JsonObject) -> Claim:
    """The same after the scheduler: with the link that it selects, if it names one.

    RequestError if no such link is offered to claims, or not to this one.
    """
    devices = claim["spec"]["devices"]
    (request,) = devices["requests"]
    assert request["exactly"]["deviceClassName"] == CLASS_NAME  # whose configuration is empty
    named = SELECTED.search(str(request["exactly"]["selectors"]))
    link, share = attack.device, attack.share_id
    if named is not None and (link := named[1]) not in OFFERED:
        raise RequestError(f"no device fits: {link}")
    if named is not None:
        share = OFFERED[link]
    device = AllocatedDevice(request["name"], DRIVER, "node", link, share)
    (config,) = devices["config"]
    parameters = config["opaque"]["parameters"]
    own = OpaqueConfig("FromClaim", DRIVER, parameters, (request["name"],))
    return msgspec.structs.replace(attack.claim(), devices=(device,), configs=(own,))


@pytest.mark.parametrize("name", OF_A_TENANT)
def test_a_network_of_a_tenant_is_judged_as_its_claim(
    machine: Machine, driver: LinkDriver, name: str
) -> None:
    """A NetworkAttachmentDefinition with the attack, named by an annotated pod, is refused."""
    attack = OF_A_TENANT[name]
    with unharmed(machine), pytest.raises(RequestError):
        prepare_claim(machine, driver, allocated(attack, annotated(attack)))


@pytest.mark.parametrize("name", HARMLESS)
def test_what_a_translation_leaves_of_an_attack_is_harmless(
    machine: Machine, driver: LinkDriver, name: str
) -> None:
    """The key that was the attack is not in the claim any more, or selects a link to allocate."""
    attack = ATTACKS[name]
    claim = allocated(attack, annotated(attack))
    with unharmed(machine):
        plan = prepare_claim(machine, driver, claim)
        attach(machine, driver, plan)
        detach(machine, driver, plan)


@pytest.mark.parametrize("attack", BESIDE_A_NETWORK.values(), ids=BESIDE_A_NETWORK)
def test_nothing_is_written_over_a_network(
    machine: Machine, driver: LinkDriver, attack: Attack
) -> None:
    """A claim of a network that brings the attack along is refused for that."""
    of_class = parameters_of(network(NAME, parent={"name": attack.device}))
    with unharmed(machine), pytest.raises(RequestError):
        prepare(machine, driver, replace(attack, of_class=of_class))


def test_every_key_of_a_claim_is_tried() -> None:
    """A new one is written here, too.

    That the addresses are kept for an IPAMClaim of the namespace is for the pool to allow.
    """
    assert BESIDE.keys() >= PARAMETERS.keys() - {"ifName", "ipamClaim"}


@pytest.mark.parametrize("allow", ALLOWED, ids=", ".join)
@pytest.mark.parametrize("key", BESIDE)
@pytest.mark.parametrize("level", [None, "restricted"])
def test_a_network_allows_what_it_lists_and_nothing_else(
    machine: Machine, driver: LinkDriver, allow: tuple[str, ...], key: str, level: str | None
) -> None:
    """Whatever the namespace's level allows claims that bring a network of their own."""
    of_class = parameters_of(network(NAME, parent={"name": OWN}, allow=[*allow], **STATIC))
    chosen = Attack(of_class=of_class, beside={key: BESIDE[key]}, level=level)
    if key in allow and key != "bandwidth":  # which is capacity, and no parameter
        prepare(machine, driver, chosen)
        return
    with unharmed(machine), pytest.raises(RequestError, match=f"parameters[.]{key}: "):
        prepare(machine, driver, chosen)


@pytest.mark.parametrize("allow", ALLOWED[1:], ids=", ".join)
@pytest.mark.parametrize(
    "address", ["192.0.2.10/24", "192.0.2.1/24", "203.0.113.5/24", "169.254.169.254/32"]
)
def test_what_a_network_allows_does_not_reach_the_node(
    machine: Machine, driver: LinkDriver, allow: tuple[str, ...], address: str
) -> None:
    """Its own address, its gateway's, the API server's, and a cloud's metadata service."""
    of_class = parameters_of(network(NAME, parent={"name": "uplink"}, allow=[*allow], **STATIC))
    chosen = Attack(of_class=of_class, beside={"ips": [address]}, device="uplink")
    with unharmed(machine), pytest.raises(RequestError, match=r"parameters[.]ips: "):
        prepare(machine, driver, chosen)


@pytest.mark.parametrize("level", [None, "restricted", "baseline", "privileged"])
@pytest.mark.parametrize("device", [OWN, f"{NAME}-on-{OWN}"], ids=["class", "attribute"])
def test_a_namespace_that_is_not_selected_has_no_network(
    machine: Machine, driver: LinkDriver, level: str | None, device: str
) -> None:
    """By the class, and by a device of the network; a claim cannot select its namespace itself."""
    closed = network(NAME, parent={"name": OWN}, namespaces=TEAM)
    inside(machine, lambda: driver.learn_classes([class_of(closed, DRIVER)]))
    of_class = parameters_of(closed) if device == OWN else None
    attack = Attack(of_class=of_class, device=device, level=level)
    tried: tuple[JsonObject, ...] = ({}, {"namespaces": {}}, {"podNetwork": "other-net"})
    for beside in tried:
        with unharmed(machine), pytest.raises(RequestError):
            prepare(machine, driver, replace(attack, beside=beside))
    with (
        unharmed(machine),
        pytest.raises(RequestError, match=r"spec\.namespaces of the PodNetwork"),
    ):
        prepare(machine, driver, attack)


@pytest.mark.parametrize("device", [OWN, f"{NAME}-on-{OWN}"], ids=["class", "attribute"])
def test_a_namespace_that_is_selected_has_it(
    machine: Machine, driver: LinkDriver, device: str
) -> None:
    """So that the refusals above are those of what they say."""
    closed = network(NAME, parent={"name": OWN}, namespaces=TEAM)
    inside(machine, lambda: driver.learn_classes([class_of(closed, DRIVER)]))
    of_class = parameters_of(closed) if device == OWN else None
    claim = Attack(of_class=of_class, device=device).claim()
    labelled = msgspec.structs.replace(claim, namespace_labels={"team": "media"})
    plan = prepare_claim(machine, driver, labelled)
    with unharmed(machine):
        attach(machine, driver, plan)
        detach(machine, driver, plan)
