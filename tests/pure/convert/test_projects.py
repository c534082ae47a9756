"""Networks and pods as the projects around Multus show them: converted, and checked.

The files in `projects` have their constellations in words of our own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from netclaim.cli import main

USERS: Final = ("Pod", "Deployment")
FILES: Final = Path(__file__).parent / "projects"


@dataclass(frozen=True)
class Expected:
    """What becomes of a file."""

    networks: Mapping[str, str]  # PodNetworks, and their types
    claims: Mapping[str, int]  # the claims of each pod or workload
    lost: tuple[str, ...] = ()  # what cannot be carried over: where, and why
    kept: frozenset[str] = field(default_factory=frozenset)  # networks that stay with Multus


EXPECTED: Final = {
    "multus-quickstart": Expected({"macvlan-conf": "macvlan"}, {"once": 1, "twice": 2, "named": 1}),
    "multus-choices": Expected(
        {"chosen": "macvlan", "published": "cni"},
        {"fixed": 1, "ports": 1, "way-out": 1},
        ("portMappings: a claim has no port mappings", "default-route: a claim does not replace"),
    ),
    "npwg-specification": Expected(
        {"a-bridge-network": "cni", "other-net-b": "cni"},
        {"short": 2, "long": 2},
        ("spec.config: ", "cni-args: a claim has no arguments for plugins"),
        frozenset({"on-the-nodes"}),
    ),
    "kubevirt-bridges": Expected(
        {"vlan-net": "cni"}, {"beside": 1}, ("networks[0].multus: KubeVirt asks Multus for it",)
    ),
    "openshift-networks": Expected(
        {
            "bridge-dhcp": "bridge",
            "whole-card": "hostDevice",
            "vlan-5": "vlan",
            "ipvlan-l3": "ipvlan",
            "whereabouts-shared": "macvlan",
            "in-a-vrf": "cni",
        },
        {"many": 5, "fast": 1},
        (
            "linksInContainer: needs an interface that another network made",
            "sriov gets its device from a device plugin",
            "default/virtual-function is not a NetworkAttachmentDefinition that is converted",
        ),
        frozenset({"bonded", "virtual-function"}),
    ),
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Run a command; returns its exit code, and what it said on both streams."""
    with pytest.raises(SystemExit) as caught:
        main([*map(str, arguments)])
    return int(caught.value.code or 0), "".join(capsys.readouterr())


def claims_of(found: Mapping[str, Any]) -> int:
    """How many claims a pod or workload has."""
    spec = found["spec"]
    return len(spec.get("template", {}).get("spec", spec).get("resourceClaims", ()))


def test_every_project_is_expected() -> None:
    """No file is left out."""
    assert EXPECTED.keys() == {file.stem for file in FILES.iterdir()}


@pytest.mark.parametrize("project", EXPECTED)
def test_a_project_is_converted_and_checked(
    project: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is lost is named and keeps the rest from being written; the rest has no mistakes."""
    wanted = EXPECTED[project]
    source: tuple[str | Path, ...] = ("convert", "-f", FILES / f"{project}.yaml", "-o", tmp_path)
    if wanted.lost:
        code, said = run(capsys, *source)
        assert code == 2
        assert said.count("(not carried over)") == len(wanted.lost)
        for words in wanted.lost:
            assert words in said
        assert list(tmp_path.iterdir()) == []
        source = (*source, "--lossy")
    code, said = run(capsys, *source)
    assert code == 0, said
    (file,) = tmp_path.iterdir()
    found = [each for each in yaml.safe_load_all(file.read_text()) if each]
    networks = [each for each in found if each["kind"] == "PodNetwork"]
    assert {each["metadata"]["name"]: each["spec"]["type"] for each in networks} == wanted.networks
    users = {each["metadata"]["name"]: each for each in found if each["kind"] in USERS}
    assert {name: claims_of(each) for name, each in users.items()} == wanted.claims
    left = {each["metadata"]["name"] for each in found if "Attachment" in each["kind"]}
    assert left == wanted.kept
    code, said = run(capsys, "check", "-f", file)
    assert code == 0, said
    assert "0 errors" in said
