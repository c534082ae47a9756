"""What a request asks of a link that no link has, and names that lead elsewhere in the files."""

import json
from typing import Any

import pytest
import yaml

from tests.pure.check.test_check import CLAIM, CLASS, POD, lines

DRIVER = "cni.dra.networking.x-k8s.io"


def asking(**fields: Any) -> str:
    """A claim whose request has these fields."""
    made = yaml.safe_load(CLAIM)
    made["spec"]["devices"]["requests"][0]["exactly"] |= fields
    return f"{json.dumps(made)}\n"


def selecting(expression: str) -> str:
    """A claim whose request has this selector."""
    return asking(selectors=[{"cel": {"expression": expression}}])


def test_an_attribute_that_no_link_has() -> None:
    """It would keep the pod waiting for a device; of other drivers nothing is known."""
    (found,) = lines(CLASS, selecting(f'device.attributes["{DRIVER}"].ifname == "eth1"'))
    assert 'no link has an attribute "ifname"; did you mean "ifName"?' in found
    assert "warning: spec.devices.requests[0].exactly.selectors[0].cel.expression" in found
    for known in ("ifName", "speed", "slot", "rdma", "vfIndex"):
        assert lines(CLASS, selecting(f'has(device.attributes["{DRIVER}"].{known})')) == []
    assert lines(CLASS, selecting('device.attributes["gpu.example.com"].model == "x"')) == []


OURS = f'device.attributes["{DRIVER}"]'


@pytest.mark.parametrize(
    "expression",
    [
        f'{OURS}.?nam.orValue("") == "eth1"',
        f'{OURS}["nam"] == "eth1"',
        f'device.attributes[?"{DRIVER}"].?nam.hasValue()',
        f"has({OURS}.nam)",
        f'cel.bind(a, {OURS}, a.mtu > 1500 && a.nam == "eth1")',
        f'device.driver == "{DRIVER}" && ({OURS}.rdma || {OURS}.nam == "eth1")',
    ],
)
def test_an_attribute_in_every_spelling(expression: str) -> None:
    """Whatever way an attribute is read, one that no link has is found."""
    (found,) = lines(CLASS, selecting(expression))
    assert found.endswith('no link has an attribute "nam"; did you mean "name"?')


@pytest.mark.parametrize(
    "expression",
    [
        f'{OURS}.exists(k, k == "pfName")',
        f"{OURS}.all(k, k.size() > 2)",
        f'{OURS}.filter(k, k == "name").size() > 0',
        f"{OURS}.size() > 2",
        f'"pfName" in {OURS}.map(k, k)',
        f"{OURS}.mtu > 1500 // not {OURS}.nam",
        f"{OURS}.name == '{OURS}.nam'",
        'device.attributes["resource.kubernetes.io"].?pciBusID.hasValue()',
    ],
)
def test_what_is_no_attribute(expression: str) -> None:
    """Functions of a map of attributes, comments and texts are not taken for attributes."""
    assert lines(CLASS, selecting(expression)) == []


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("pciBusID", "resource.kubernetes.io"),
        ("pcieRoot", "resource.kubernetes.io"),
        ("podNetwork", "multinetwork.networking.k8s.io"),
    ],
)
def test_an_attribute_of_another_domain(name: str, domain: str) -> None:
    """An attribute that links have in another domain than the driver's is pointed to there."""
    (found,) = lines(CLASS, selecting(f"has({OURS}.{name})"))
    assert found.endswith(f'did you mean device.attributes["{domain}"].{name}?')


@pytest.mark.parametrize("driver", [DRIVER, "gpu.example.com"])
def test_an_attribute_as_a_slice_writes_it(driver: str) -> None:
    """No device has it, of whatever driver: a domain has no slash, and a value no fields."""
    read, written = f'device.attributes["{driver}"].name', f'device.attributes["{driver}/name"]'
    (found,) = lines(CLASS, selecting(f'{written}.string == "eth1"'))
    assert found.endswith(f"no domain has a slash; write {read}")
    (found,) = lines(CLASS, selecting(f'device.driver == "{driver}" && {read}.string == "eth1"'))
    assert found.endswith(f'{read} is the value itself, without a field "string"; leave that out')
    assert lines(CLASS, selecting(f'{read}.startsWith("eth") && {read}.size() > 3')) == []


def test_the_selectors_of_a_class() -> None:
    """They are read as a claim's are."""
    (found,) = lines(CLASS.replace(f'device.driver == "{DRIVER}"', f'{OURS}.ifname == "eth1"'))
    assert "warning: spec.selectors[0].cel.expression: no link has an attribute" in found
    gpu = 'device.attributes["gpu.example.com/model"].string == "x"'
    (found,) = lines(CLASS.replace(f'device.driver == "{DRIVER}"', gpu))
    assert found.endswith('write device.attributes["gpu.example.com"].model')


def test_a_capacity_in_a_selector() -> None:
    """A selector that reads a capacity that no link has can be true of none."""
    read = 'device.capacity["{0}"].{1}.compareTo(quantity("1G")) >= 0'
    (found,) = lines(CLASS, selecting(read.format(DRIVER, "bandwith")))
    assert found.endswith('no link has a capacity "bandwith"; did you mean "bandwidth"?')
    for driver, name in ((DRIVER, "bandwidth"), ("gpu.example.com", "memory")):
        assert lines(CLASS, selecting(read.format(driver, name))) == []


def test_a_capacity_that_no_link_has() -> None:
    """The scheduler passes over devices without a capacity that a request names."""
    (found,) = lines(CLASS, asking(capacity={"requests": {"bandwith": "1G"}}))
    assert 'no link has a capacity "bandwith"; did you mean "bandwidth"?' in found
    (found,) = lines(CLASS, asking(capacity={"requests": {"memory": "1G"}}))
    assert found.endswith('capacity "memory"; links have wholeLink and bandwidth')
    known = {"bandwidth": "1G", f"{DRIVER}/wholeLink": "1", "other.example.com/x": "1"}
    assert lines(CLASS, asking(capacity={"requests": known})) == []


def test_a_name_of_the_other_kind() -> None:
    """A pod that names a claim where it means a template, or the other way round, is told."""
    template = yaml.safe_load(CLAIM)
    template |= {"kind": "ResourceClaimTemplate", "spec": {"spec": template["spec"]}}
    (found,) = lines(CLASS, f"{json.dumps(template)}\n", POD)
    assert "there is a ResourceClaimTemplate of this name, for resourceClaimTemplateName" in found
    of_template = POD.replace("resourceClaimName", "resourceClaimTemplateName")
    (found,) = lines(CLASS, CLAIM, of_template)
    assert "there is a ResourceClaim of this name, for resourceClaimName" in found


def test_a_name_in_another_namespace() -> None:
    """A pod has claims of its own namespace only, so one elsewhere is pointed out."""
    elsewhere = CLAIM.replace("  name: storage\n", "  name: storage\n  namespace: team\n", 1)
    (found,) = lines(CLASS, elsewhere, POD)
    assert "the one in namespace team is for pods there" in found


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_claims_of_containers_of_other_kinds(kind: str) -> None:
    """A container names a claim that its pod does not have, whatever describes the pod."""
    container = {"name": "a", "resources": {"claims": [{"name": "nett"}]}}
    claims = [{"name": "net", "resourceClaimName": "storage"}]
    spec = {"worker": {"template": {"spec": {kind: [container], "resourceClaims": claims}}}}
    job = {"apiVersion": "example.com/v1", "kind": "MPIJob", "metadata": {"name": "a"}}
    (found,) = lines(CLASS, CLAIM, json.dumps({**job, "spec": spec}))
    assert f"spec.worker.template.spec.{kind}[0].resources.claims[0]: Not found: 'nett'" in found
