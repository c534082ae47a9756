"""Which links the settings hide and show, in CEL; nothing is shown that is withheld for a fact."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from netclaim.allocator.cel import CompileError, compile_selector
from netclaim.errors import RequestError
from netclaim.framework.settings.sources import Sources
from netclaim.model import Device
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.devices.expression import link_expression
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.links.offering.choice import HIDDEN, LinkChoice
from netclaim.network.links.offering.offer import LinkOffer
from netclaim.network.settings import LinkSettings, LiveSettings, check_together, declared
from netclaim.network.settings.per_link import read_counts
from tests.support.doc_pages import code, table
from tests.support.network_parts import DRIVER, link_of

MINE = f'device.attributes["{DRIVER}"]'
STANDARD = "resource.kubernetes.io"
LINKS = (
    link_of("eth1", 2, mtu=1500),
    link_of("eth2", 3, mtu=9000),
    link_of("br0", 4, kind="bridge"),
    link_of("lxcbr0", 5, kind="bridge"),
    link_of("veth7", 6, kind="veth"),
)
SNAPSHOT = Snapshot(
    links=LINKS,
    addresses=(),
    uplinks=(2,),
    withheld={5: "its name is one that pod networks use", 6: "it leads into a pod"},
    carriers={},
    by_name=frozenset({5}),
)


def choice_by(node: NodeFacts | None = None, **settings: str) -> LinkChoice:
    """The choice that expressions make on a node."""
    compiled: dict[str, Any] = {name: link_expression(text) for name, text in settings.items()}
    live = LiveSettings(LinkSettings(state_dir=Path("/nowhere"), **compiled))
    choice = LinkChoice(live, LinkOffer(live))
    choice.learn_node(node or NodeFacts(name="n1", labels={"zone": "a"}))
    return choice


async def offered(choice: LinkChoice) -> list[str]:
    """The names of the links that are offered."""
    return [link.name for link, _ in await choice.chosen(SNAPSHOT)]


@pytest.mark.parametrize(
    ("expression", "left"),
    [
        ("true", ["eth1", "eth2", "br0"]),
        ("false", []),
        (f'{MINE}.kind != "bridge"', ["eth1", "eth2"]),
        (f"{MINE}.mtu >= 9000", ["eth2"]),
        (f'device.driver == "{DRIVER}"', ["eth1", "eth2", "br0"]),
        ('node.name == "n1"', ["eth1", "eth2", "br0"]),
        ('node.labels["zone"] == "b"', []),
        (f'node.labels["zone"] == "a" && {MINE}.name == "eth1"', ["eth1"]),
        (f'{MINE}.name == "eth1" || node.labels[?"no"].orValue("") == "x"', ["eth1"]),
        ("device.allowMultipleAllocations", ["eth1", "eth2", "br0"]),
        ("!device.allowMultipleAllocations", []),
    ],
)
async def test_a_filter_hides(expression: str, left: list[str]) -> None:
    """Only links of which it is true are offered."""
    assert await offered(choice_by(link_filter=expression)) == left


async def test_without_expressions_the_rules_decide() -> None:
    """What is withheld is not offered, and the rest is."""
    assert await offered(choice_by()) == ["eth1", "eth2", "br0"]


@pytest.mark.parametrize(
    ("settings", "asked"), [({}, [1]), ({"whole_uplinks": ("eth[1]",)}, [1, 32])]
)
async def test_an_uplink_is_offered_by_parts(settings: dict[str, Any], asked: list[int]) -> None:
    """What carries the node cannot be had alone, unless the settings name it; all others can."""
    live = LiveSettings(LinkSettings(state_dir=Path("/nowhere"), **settings))
    carried = replace(SNAPSHOT, carriers={2: "the node's default route uses it"})
    chosen = await LinkChoice(live, LinkOffer(live)).chosen(carried)
    policies = {link.name: device.capacity["attachments"].policy for link, device in chosen}
    for name, amounts in {"eth1": asked, "eth2": [1, 32], "br0": [1, 32]}.items():
        policy = policies[name]
        assert policy is not None
        assert [int(str(each)) for each in policy.valid_values] == amounts


async def test_a_card_with_functions_is_offered_by_parts() -> None:
    """The scheduler never gives a whole card while its virtual functions are devices too."""
    live = LiveSettings(LinkSettings(state_dir=Path("/nowhere")))
    with_functions = replace(SNAPSHOT, with_vfs=frozenset({2}))
    chosen = await LinkChoice(live, LinkOffer(live)).chosen(with_functions)
    policies = {link.name: device.capacity["attachments"].policy for link, device in chosen}
    amounts = {name: policy and len(policy.valid_values) for name, policy in policies.items()}
    assert amounts == {"eth1": 1, "eth2": 2, "br0": 2}


async def test_an_uplink_for_one_claim_is_not_its_own() -> None:
    """A claim that has the only part of an uplink does not have it alone."""
    settings: dict[str, Any] = {"attachments": read_counts(64, "")(["1"])}
    live = LiveSettings(LinkSettings(state_dir=Path("/nowhere"), **settings))
    carried = replace(SNAPSHOT, carriers={2: "the node's default route uses it"})
    chosen = dict(await LinkChoice(live, LinkOffer(live)).chosen(carried))
    shared = {link.name: device.allow_multiple_allocations for link, device in chosen.items()}
    assert shared == {"eth1": True, "eth2": False, "br0": False}


async def test_only_a_link_that_is_withheld_for_its_name_can_be_shown() -> None:
    """A pod's link stays the pod's, whatever the expression says."""
    choice = choice_by(show_links="true")
    assert await offered(choice) == ["eth1", "eth2", "br0", "lxcbr0"]


async def test_a_link_that_is_shown_passes_the_filter_too() -> None:
    """The filter has the last word."""
    shown = f'{MINE}.name.startsWith("lxc")'
    both = choice_by(show_links=shown, link_filter=f'{MINE}.kind != "bridge"')
    assert await offered(both) == ["eth1", "eth2"]


async def test_what_has_no_value_is_not_offered_and_logged_once() -> None:
    """An attribute that a link lacks hides it; the log names link, expression and reason."""
    choice = choice_by(link_filter=f'{MINE}.pciVendor == "8086"')
    with capture_logs() as logs:
        assert await offered(choice) == []
        assert await offered(choice) == []
    assert [(entry["event"], entry["device"]) for entry in logs] == [
        ("discover.filter_failed", name) for name in ("eth1", "eth2", "br0")
    ]
    assert logs[0]["error"] == "no such key: pciVendor"


async def test_labels_that_are_not_known_show_nothing() -> None:
    """An older journal knows the node without labels; that is not the same as having none."""
    unknown = choice_by(NodeFacts(name="n1"), link_filter='!("edge" in node.labels)')
    assert await offered(unknown) == []
    unlabelled = NodeFacts(name="n1", labels={})
    assert await offered(choice_by(unlabelled, link_filter='!("edge" in node.labels)')) != []
    assert await offered(choice_by(NodeFacts(name="n1"), link_filter='node.name == "n1"')) != []


def test_labels_are_followed_only_if_they_count() -> None:
    """The node's name never changes."""
    assert choice_by(show_links='"edge" in node.labels').reads_labels
    assert not choice_by(link_filter='node.name == "n1"').reads_labels
    assert not choice_by().reads_labels


async def test_hidden_links_cannot_be_named_either() -> None:
    """The snapshot by which claims of the device `cni` are judged has them withheld."""
    hiding = choice_by(link_filter=f'{MINE}.name != "eth1"', show_links="true")
    applied = await hiding.applied(SNAPSHOT)
    assert applied.withheld == {2: HIDDEN, 6: "it leads into a pod"}
    assert await choice_by().applied(SNAPSHOT) is SNAPSHOT


def test_a_link_in_a_pod_is_filtered_as_it_was() -> None:
    """Being away does not show a link that is hidden."""
    lent = Device("eth9", {"name": "eth9", "mtu": 1500})
    left = choice_by(link_filter=f"{MINE}.mtu == 1500").filtered([lent])
    assert [device.name for device in left] == ["eth9"]
    assert choice_by(link_filter=f"{MINE}.mtu == 9000").filtered([lent]) == ()


async def test_the_hidden_are_logged_when_they_change() -> None:
    """Not with every look."""
    choice = choice_by(link_filter=f'{MINE}.name != "eth1"')
    links = [link for link, _ in await choice.chosen(SNAPSHOT)]
    with capture_logs() as logs:
        choice.log_hidden(SNAPSHOT, links)
        choice.log_hidden(SNAPSHOT, links)
    assert [(entry["event"], entry["links"]) for entry in logs] == [("discover.hidden", ["eth1"])]


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("node.label", "1:5: undefined field 'label'"),
        ("nodes.name == 'a'", "1:1: undeclared reference to 'nodes'"),
        ("node.name", "1:1: must evaluate to bool or the unknown type, not string"),
        ('node.labels["a"] == 1', "1:18: found no matching overload"),
        ("true &&", "1:8: expected a value, found the end of the expression"),
    ],
)
def test_a_bad_expression_is_refused_with_its_place(expression: str, fault: str) -> None:
    """When it is read, before any link is looked at."""
    with pytest.raises(CompileError) as caught:
        link_expression(expression)
    assert str(caught.value).startswith(fault)
    assert isinstance(caught.value, RequestError)


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        (f'{MINE}.knid == "veth"', "1:49: no device has an attribute 'knid'; did you mean 'kind'?"),
        (f'true || {MINE}["xyzzy"] == 1', "1:57: no device has an attribute 'xyzzy'"),
        (
            'device.attributes["dra.net"].mtu > 1',
            (
                f"1:29: devices have no attributes of 'dra.net', only of "
                f"{DRIVER}, {STANDARD}, multinetwork.networking.k8s.io"
            ),
        ),
        ('device.attributes["resource.kubernetes.io"].pcieRoot == "x"', ""),
        (f"{MINE}.?knid.hasValue() && has({MINE}.knid)", ""),
    ],
)
def test_what_no_device_has_is_refused(expression: str, fault: str, tmp_path: Path) -> None:
    """It would hide every link; what asks whether an attribute is there may ask."""
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps({"linkFilter": expression}))
    sources = Sources(declared(), {}, file, check=check_together)
    if not fault:
        assert sources.read()["link_filter"].text == expression
        return
    with pytest.raises(RequestError) as caught:
        sources.read()
    assert str(caught.value) == f"{file}:1: linkFilter: {fault}"


def test_the_pages_expressions() -> None:
    """Those that docs/discover.md shows are valid, and have a value for every link."""
    rows = table("discover.md", "Hiding and showing links")
    assert rows
    lent = Device("eth9", {"name": "eth9", "kind": "device", "defaultRoute": False})
    for row in rows:
        choice = choice_by(link_filter=code(row["Expression of `linkFilter`"]))
        with capture_logs() as logs:
            choice.filtered([lent])
        assert logs == []


def test_selectors_of_claims_know_no_node() -> None:
    """The scheduler would refuse it."""
    with pytest.raises(CompileError, match="undeclared reference to 'node'"):
        compile_selector('node.name == "a"')
