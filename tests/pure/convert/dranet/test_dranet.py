"""Claims that are written for dranet, as claims on netclaim's driver."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.pure.convert.converting import convert, converted, converted_file, said

OURS = "cni.dra.networking.x-k8s.io"
EXAMPLE = Path(__file__).resolve().parents[4] / "examples/dranet/claim.yaml"
ALONE = {"requests": {"wholeLink": "1"}}


def claim(
    expression: str = 'device.driver == "dra.net"',
    parameters: dict[str, Any] | None = None,
    version: str = "v1",
    **devices: Any,
) -> str:
    """A claim for one link, as a document."""
    asked = {
        "deviceClassName": "dra.net",
        "selectors": [{"cel": {"expression": expression}}],
    }
    request = {"name": "nic", "exactly": asked} if version != "v1beta1" else {"name": "nic"} | asked
    opaque = {"driver": "dra.net", "parameters": parameters or {}}
    config = [] if parameters is None else [{"opaque": opaque}]
    spec = {"devices": {"requests": [request], "config": config, **devices}}
    return "---\n" + yaml.safe_dump(
        {
            "apiVersion": f"resource.k8s.io/{version}",
            "kind": "ResourceClaim",
            "metadata": {"name": "fast"},
            "spec": spec,
        },
        sort_keys=False,
    )


def devices(text: str) -> dict[str, Any]:
    """What a claim asks for after its conversion."""
    (found,) = converted(text)
    asked: dict[str, Any] = found["spec"]["devices"]
    return asked


def test_the_example_keeps_its_comments_and_parameters() -> None:
    """Only the driver, the selectors and the request for the link alone are different."""
    before, after = EXAMPLE.read_text(), converted_file(EXAMPLE.read_text())
    added = "          capacity:\n            requests:\n              wholeLink: '1'\n"
    assert after.replace(added, "") == (
        before.replace('"dra.net"', f'"{OURS}"').replace("driver: dra.net", f"driver: {OURS}")
    )
    conversion = convert(before)
    assert (conversion.claims, conversion.networks, conversion.workloads) == (2, 0, 0)
    assert not conversion.remarks


@pytest.mark.parametrize(
    ("expression", "becomes"),
    [
        ("device.driver == 'dra.net'", f"device.driver == '{OURS}'"),
        (
            'device.attributes["dra.net"].ifName == "eth1"',
            f'device.attributes["{OURS}"].ifName == "eth1"',
        ),
        (
            'has(device.attributes["dra.net"].name) && device.attributes["dra.net"].name == "e"',
            f'has(device.attributes["{OURS}"].name) && device.attributes["{OURS}"].name == "e"',
        ),
        (
            'device.attributes["dra.net"].type == "device"',
            f'device.attributes["{OURS}"].kind == "device"',
        ),
        (
            "device.attributes['dra.net'].?rdmaDevice.orValue('') == 'mlx5_0'",
            f"device.attributes['{OURS}'].?rdmaDevice.orValue('') == 'mlx5_0'",
        ),
        (
            'device.attributes["dra.net"].rdma || device.attributes[ "dra.net" ]["mtu"] > 1500',
            f'device.attributes["{OURS}"].rdma || device.attributes[ "{OURS}" ]["mtu"] > 1500',
        ),
        (
            'device.attributes["gpu.example.com"].type == "h100"',
            'device.attributes["gpu.example.com"].type == "h100"',
        ),
    ],
)
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_selectors_select_the_same_links(expression: str, becomes: str, version: str) -> None:
    """In every version; attributes of other drivers stay."""
    request = devices(claim(expression, {"interface": {"name": "n"}}, version))["requests"][0]
    request = request.get("exactly", request)
    assert request["selectors"][0]["cel"]["expression"] == becomes
    assert request["capacity"] == ALONE


@pytest.mark.parametrize(
    ("expression", "remark"),
    [
        (
            'device.attributes["dra.net"].ipv4 == "10.0.0.5"',
            "the attribute ipv4: netclaim's value has a prefix length, such as 10.0.0.5/24; re",
        ),
        (
            'device.attributes["dra.net"].encapsulation == "ether"',
            "the attribute encapsulation: select by type, which is ethernet, infiniband or other",
        ),
        (
            'device.attributes["dra.net"].pciDevice == "Elastic Fabric Adapter (EFA)"',
            "the attribute pciDevice: netclaim's value is the ID, such as 0x101d; rewrite",
        ),
        (
            'device.attributes["dra.net"].ifname == "eth1"',
            'the attribute ifname: netclaim has none; did you mean "ifName"?',
        ),
        (
            'device.attributes["gce.dra.net"].block == "b"',
            "names dra.net in a way that is not recognized; rewrite it",
        ),
    ],
)
def test_an_attribute_that_netclaim_lacks_is_named(expression: str, remark: str) -> None:
    """With the line, and what to do; so nothing is written without --lossy."""
    conversion = convert(claim(expression, {"interface": {"name": "n", "addresses": ["::1/64"]}}))
    (only,) = conversion.remarks
    assert only.lost
    assert only.text.startswith(remark)
    assert only.path == "spec.devices.requests[0].exactly.selectors[0].cel.expression"


def test_constraints_are_about_netclaims_attributes() -> None:
    """What every driver publishes under a standard name stays."""
    found = devices(
        claim(
            parameters={"interface": {"name": "n"}},
            constraints=[
                {"matchAttribute": "dra.net/numaNode"},
                {"matchAttribute": "resource.kubernetes.io/pcieRoot"},
            ],
        )
    )
    assert [each["matchAttribute"] for each in found["constraints"]] == [
        f"{OURS}/numaNode",
        "resource.kubernetes.io/pcieRoot",
    ]


def test_what_the_driver_would_refuse_is_left_out() -> None:
    """It is named, with what to write instead."""
    written = {"interface": {"name": "n", "type": "IPVLAN", "nam": "x"}, "rout": []}
    conversion = convert(claim(parameters=written))
    lost = [remark for remark in conversion.remarks if remark.lost]
    assert [remark.path.rpartition("parameters.")[2] for remark in lost] == [
        "rout",
        "interface.nam",
        "interface.type",
    ]
    config = devices(claim(parameters=written))["config"]
    assert config == [{"opaque": {"driver": OURS, "parameters": {"interface": {"name": "n"}}}}]


def test_addresses_of_a_server_stay_so() -> None:
    """Nothing is said, because what the node has on the link stays there."""
    written = {"interface": {"name": "n", "dhcp": True}}
    assert said(convert(claim(parameters=written))) == []
    assert devices(claim(parameters=written))["config"][0]["opaque"]["parameters"] == written


def test_a_profile_is_left_out() -> None:
    """What is left takes the link with what the node has on it, and the driver can read that."""
    conversion = convert(claim(parameters={"profile": "pods"}))
    (lost,) = [remark for remark in conversion.remarks if remark.lost]
    assert lost.path == "spec.devices.config[0].opaque.parameters.profile"
    assert "AddressPool" in lost.text
    assert devices(claim(parameters={"profile": "pods"}))["config"] == [
        {"opaque": {"driver": OURS, "parameters": {"interface": {}}}}
    ]


def test_a_claim_without_parameters_gets_some() -> None:
    """Netclaim needs an entry for each request; the link keeps its name and its addresses."""
    found = devices(claim())
    opaque = {"driver": OURS, "parameters": {"interface": {}}}
    assert found["config"] == [{"requests": ["nic"], "opaque": opaque}]
    (remark,) = convert(claim()).remarks
    assert not remark.lost
    assert "what the node has on the link follows it into the pod" in str(remark)


def test_alternatives_ask_for_the_link_alone_each() -> None:
    """A claim that only names the class is for dranet too, and others are left alone."""
    alternatives = [{"name": name, "deviceClassName": "dra.net"} for name in ("fast", "slow")]
    other = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    requests = [{"name": "nic", "firstAvailable": alternatives}, other]
    found = devices(claim(parameters=None, requests=requests))["requests"]
    assert [each["capacity"] for each in found[0]["firstAvailable"]] == [ALONE, ALONE]
    assert found[1] == other
    assert not convert(claim().replace("dra.net", "gpu.example.com")).replacements


def test_it_goes_together_with_networks_of_multus() -> None:
    """Everything that is not dranet's is converted as ever."""
    conversion = convert(claim(parameters={"interface": {"name": "n", "addresses": ["::1/64"]}}))
    assert said(conversion) == []
    assert conversion.claims == 1


def test_what_needs_a_privileged_namespace_is_said() -> None:
    """Every claim for dranet may detach the programs that guard a link, unlike netclaim's."""
    parameters = {"interface": {"addresses": ["10.0.0.5/24"], "disableEbpfPrograms": True}}
    (remark,) = said(convert(claim(parameters=parameters)))
    assert "interface.disableEbpfPrograms: a claim may have this only in a namespace" in remark
    parameters["interface"]["disableEbpfPrograms"] = False
    assert said(convert(claim(parameters=parameters))) == []
