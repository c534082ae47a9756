"""A PodNetwork becomes a class and a template that the driver and the API server accept."""

from typing import Any

import pytest

from netclaim.allocator.cel import compile_selector, device_view
from netclaim.errors import RequestError
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.api.dra.slice import PublishedDevice
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.network.judge.pod_network import network_faults
from netclaim.network.pod_network import class_of, parameters_of, template_of
from netclaim.network.request.parameters import read_claim
from netclaim.schema.defaults import with_defaults
from netclaim.schema.kinds import CLASS, TEMPLATE
from netclaim.schema.review import check_new

DRIVER = "cni.dra.networking.x-k8s.io"
LINK = {"parent": {"name": "eth1"}}


def network(**spec: Any) -> PodNetwork:
    """A network with this spec."""
    return PodNetwork.read({"metadata": {"name": "media-net"}, "spec": spec})


EACH = [
    {"type": "macvlan", **LINK, "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}},
    {"type": "ipvlan", **LINK, "mode": "l3"},
    {"type": "vlan", **LINK, "vlan": 100, "mtu": 1400},
    {"type": "bridge", "bridge": "br0", "vlan": 7},
    {"type": "hostDevice", "parent": {"selector": "device.driver == 'x'"}},
    {"type": "cni", "config": {"cniVersion": "1.0.0", "name": "x", "type": "ptp"}},
]


@pytest.mark.parametrize("spec", EACH, ids=lambda spec: str(spec["type"]))
def test_every_type_can_be_stored_and_read(spec: dict[str, Any]) -> None:
    """The class and the template pass the API's rules, and the driver reads the parameters."""
    found = network(**spec)
    assert list(check_new(class_of(found, DRIVER), CLASS, {}, core=False)) == []
    template = with_defaults(template_of(found, "default"), TEMPLATE, "")
    assert list(check_new(template, TEMPLATE, {}, core=False)) == []
    (request,) = read_claim(_claim(found))
    assert (request.ifname, request.pod_network, request.trusted) == (
        "media-net",
        "media-net",
        True,
    )


def _claim(found: PodNetwork) -> Claim:
    return Claim(
        uid="u",
        namespace="default",
        name="c",
        devices=(AllocatedDevice("media-net", DRIVER, "node", "eth1"),),
        configs=(OpaqueConfig("FromClass", DRIVER, parameters_of(found)),),
    )


@pytest.mark.parametrize("name", ["eth1", 'a"||"a"=="a', "a\\", "a\nb", "\\x41", "é"])
def test_a_name_of_a_link_is_only_a_name(name: str) -> None:
    """The name in a converted network comes from a tenant who wrote it for Multus."""
    made = class_of(network(type="macvlan", parent={"name": name}), DRIVER)
    selectors = [compile_selector(each["cel"]["expression"]) for each in made["spec"]["selectors"]]

    def selected(link: str) -> bool:
        device = {"name": "link", "attributes": {"name": {"string": link}}}
        view = device_view(DRIVER, PublishedDevice.read(device))
        return all(selector.matches(view) for selector in selectors)

    assert selected(name)
    assert not selected("eth2")


def test_routes_go_with_the_addresses() -> None:
    """As CNI has them."""
    ipam = {"type": "static", "routes": [{"dst": "0.0.0.0/0"}]}
    found = network(type="macvlan", **LINK, ipam=ipam, routes=[{"dst": "10.0.0.0/8", "gw": "10.1"}])
    (plugin,) = parameters_of(found)["config"]["plugins"]
    assert plugin["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}, {"dst": "10.0.0.0/8", "gw": "10.1"}]


def test_a_whole_link_is_asked_for_alone() -> None:
    """Nobody else can use a link that goes into a pod."""
    alone = {"wholeLink": "1"}
    for spec in ({"type": "hostDevice"}, {"type": "macvlan", "sharing": {"alone": True}}):
        template = template_of(network(**spec, **LINK), "default")
        (request,) = template["spec"]["spec"]["devices"]["requests"]
        assert request["exactly"]["capacity"]["requests"] == alone


def test_a_bandwidth_is_asked_for_by_the_template() -> None:
    """So that the scheduler counts it."""
    template = template_of(network(type="macvlan", **LINK, sharing={"bandwidth": "1G"}), "default")
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["capacity"]["requests"] == {"bandwidth": "1G"}


def test_the_namespaces_reach_the_driver() -> None:
    """Anybody can name a class, so the class says whose claims may."""
    selector = {"matchLabels": {"team": "media"}}
    (request,) = read_claim(_claim(network(type="macvlan", **LINK, namespaces=selector)))
    assert request.namespaces.selects({"team": "media"})
    assert not request.namespaces.selects({})


def test_a_claim_cannot_open_a_class_to_its_namespace() -> None:
    """Only the class's word counts."""
    found = network(type="macvlan", **LINK, namespaces={"matchLabels": {"team": "media"}})
    claim = _claim(found)
    own = {"apiVersion": "cni.networking.x-k8s.io/v1alpha1", "kind": "CNI", "namespaces": {}}
    tried = Claim(
        uid="u",
        namespace="default",
        name="c",
        devices=claim.devices,
        configs=(*claim.configs, OpaqueConfig("FromClaim", DRIVER, own)),
    )
    with pytest.raises(RequestError, match="only a DeviceClass can say whose claims may use it"):
        read_claim(tried)


def test_settings_are_parameters_of_the_class() -> None:
    """What a claim can write beside a network, and `allow` lists it for claims."""
    settings = {"rules": [{"source": "10.1.0.7", "table": 100}], "vrf": {"name": "blue"}}
    found = network(type="macvlan", **LINK, settings=settings, allow=["routes", "bandwidth"])
    (request,) = read_claim(_claim(found))
    assert request.wishes.settings == settings
    assert request.allowed == frozenset({"routes"})
    assert request.trusted
    assert not network_faults(found, DRIVER)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rule": []}, 'spec.settings.rule: unknown key "rule"; did you mean "rules"?'),
        ({"ifName": "net1"}, 'spec.settings.ifName: unknown key "ifName"; known keys are routes'),
        (
            {"rules": [{"source": "10.1.0.7"}]},
            "spec.settings.rules[0].table: table is missing; for example 100",
        ),
        ({"vrf": {"name": "media-net"}}, "spec.settings.vrf.name: the pod has an interface of"),
    ],
)
def test_a_mistake_in_the_settings_has_its_place(settings: dict[str, Any], said: str) -> None:
    """The controller and `netclaim check` report it where an admin wrote it."""
    faults = network_faults(network(type="macvlan", **LINK, settings=settings), DRIVER)
    assert any(str(fault).startswith(said) for fault in faults), list(map(str, faults))
