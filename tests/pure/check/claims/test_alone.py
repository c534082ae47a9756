"""What needs a link that a claim has to itself, and claims that may share theirs."""

import json
import re

import pytest
import yaml

from netclaim.check.claims.policy import Policy
from netclaim.check.report import check_files
from netclaim.manifests.text.files import parse_file
from netclaim.network.policy.levels import Level
from tests.pure.check.test_check import CLAIM, CLASS, lines

BY_NAME = """device.attributes["cni.dra.networking.x-k8s.io"].name == "eth1\""""
IPAM: dict[str, object] = {"type": "host-local", "subnet": "10.9.0.0/24"}
IPVLAN: dict[str, object] = {"type": "ipvlan", "ipam": IPAM}
VLAN: dict[str, object] = {"type": "vlan", "vlanId": 7, "ipam": IPAM}
MACVLAN: dict[str, object] = {"type": "macvlan"}


def claim(
    *plugins: dict[str, object], selector: str = BY_NAME, whole: bool = False, admin: bool = False
) -> str:
    """A claim for the link eth1 with this network."""
    made = yaml.safe_load(CLAIM)
    (request,) = made["spec"]["devices"]["requests"]
    request["exactly"]["selectors"] = [{"cel": {"expression": selector}}]
    if whole:
        request["exactly"]["capacity"] = {"requests": {"wholeLink": "1"}}
    if admin:
        request["exactly"]["adminAccess"] = True
    (config,) = made["spec"]["devices"]["config"]
    config["opaque"]["parameters"]["config"]["plugins"] = list(plugins)
    return json.dumps(made)


@pytest.mark.parametrize(
    ("plugins", "where"),
    [
        ([IPVLAN], "plugins[0].type"),
        ([VLAN], "plugins[0].type"),
        ([{"type": "macvlan", "mac": "02:00:00:00:00:07"}], "plugins[0].mac"),
        ([MACVLAN, {"type": "tuning", "promisc": True}], "plugins[1].promisc"),
        ([MACVLAN, {"type": "tuning", "mac": "02:00:00:00:00:07"}], "plugins[1].mac"),
    ],
)
def test_what_needs_the_link_alone(plugins: list[dict[str, object]], where: str) -> None:
    """The driver would refuse it while claims share the link, and says what to write."""
    (found,) = lines(CLASS, claim(*plugins))
    assert f": warning: spec.devices.config[0].opaque.parameters.config.{where}: " in found
    assert "needs a link that the claim has to itself, but claims share a link" in found
    assert 'write `capacity: {requests: {wholeLink: "1"}}` into the request nic' in found
    assert lines(CLASS, claim(*plugins, whole=True)) == []


OURS = 'device.attributes["cni.dra.networking.x-k8s.io"]'


@pytest.mark.parametrize(
    "expression",
    [
        "A.isSriovVf",
        "A.isSriovVf == true",
        'A["isSriovVf"]',
        'A.?pfName.orValue("") == "ens1"',
        "has(A.vfIndex)",
        "A.?vfIndex.orValue(-1) >= 0",
        'A.type == "infiniband"',
        "!device.allowMultipleAllocations",
        "device.allowMultipleAllocations == false",
        'cel.bind(a, A, a.isSriovVf && a.name == "eth1")',
    ],
)
def test_links_that_are_for_one_claim(expression: str) -> None:
    """A selector that only such a link fulfils asks for no link that others may share."""
    assert lines(CLASS, claim(IPVLAN, selector=re.sub(r"\bA\b", OURS, expression))) == []


@pytest.mark.parametrize(
    "expression",
    [
        "!A.isSriovVf",
        "A.isSriovVf == false",
        'A.type != "infiniband"',
        "device.allowMultipleAllocations",
        'A.name == "eth1" // isSriovVf',
        'A.isSriovVf || A.name == "eth1"',
    ],
)
def test_links_that_claims_may_share(expression: str) -> None:
    """A selector that mentions links for one claim, but may select others, is doubted."""
    (found,) = lines(CLASS, claim(IPVLAN, selector=expression.replace("A.", f"{OURS}.")))
    assert "needs a link that the claim has to itself" in found


def test_who_may_on_any_link() -> None:
    """Not a word where the namespace is privileged, or where the class brings the network."""
    files = [parse_file(f"{CLASS}---\n{claim(VLAN)}".encode(), "x")]
    assert check_files(files, policy=Policy(Level.PRIVILEGED)).findings == ()
    made = yaml.safe_load(claim(VLAN))
    (config,) = made["spec"]["devices"].pop("config")
    config.pop("requests")
    trusted = {**yaml.safe_load(CLASS), "spec": {"config": [config]}}
    trusted["spec"]["selectors"] = yaml.safe_load(CLASS)["spec"]["selectors"]
    assert lines(f"{json.dumps(trusted)}\n", json.dumps(made)) == []


@pytest.mark.parametrize("level", Level)
def test_a_network_that_is_text(level: Level) -> None:
    """At `restricted` it is an error also where the class lets claims bring one; not of a class."""
    allowing = yaml.safe_load(CLASS)
    parameters: dict[str, object] = {
        "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
        "kind": "CNI",
    }
    opaque = {"driver": "cni.dra.networking.x-k8s.io", "parameters": parameters}
    allowing["spec"]["config"] = [{"opaque": opaque}]
    made = yaml.safe_load(claim(MACVLAN))
    own = made["spec"]["devices"]["config"][0]["opaque"]["parameters"]
    own["config"] = json.dumps(own["config"])

    def found() -> list[str]:
        files = [parse_file(f"{json.dumps(allowing)}\n{json.dumps(made)}".encode(), "x")]
        findings = check_files(files, policy=Policy(level)).findings
        return [each.message for each in findings]

    parameters["allow"] = ["config"]
    text = [each for each in found() if "write it as an object" in each]
    assert len(text) == (1 if level is Level.RESTRICTED else 0)
    parameters["config"] = own.pop("config")
    assert found() == []


def test_an_error_is_not_doubted_too() -> None:
    """What the driver refuses in any case is said once, and what takes a link is said once."""
    refused = lines(CLASS, claim(VLAN, admin=True))
    assert [line.split()[1] for line in refused if "plugins[0].type" in line] == ["error:"]
    taking: dict[str, object] = {"type": "macvlan", "mode": "passthru", "mac": "02:00:00:00:00:07"}
    (found,) = lines(CLASS, claim(taking))
    assert "takes a link from others" in found


def test_no_whole_link_with_admin_access() -> None:
    """Its link is shared whatever it asks for, so nobody is told to ask for all of it."""
    found = lines(CLASS, claim({"type": "host-device"}, admin=True))
    assert "because the request has adminAccess" in found[0]
    assert not any("wholeLink" in line for line in found)
