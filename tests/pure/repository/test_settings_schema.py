"""The JSON schema of the settings file is the declarations', and the example fits it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from netclaim.errors import RequestError
from netclaim.framework.settings.sources import Sources
from netclaim.manifests.text.documents import read_document
from netclaim.network.settings import check_together, declared
from scripts import settings_schema
from tests.support.doc_pages import ROOT, section

EXAMPLE = ROOT / "examples" / "driver-config.yaml"
YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
PYTHON: dict[str, Any] = {"string": str, "number": (int, float), "boolean": bool, "array": list}


def test_the_schema_is_current() -> None:
    """A changed setting needs a run of the script."""
    now = settings_schema.SCHEMA.read_text()
    assert now == settings_schema.text(), "run scripts/settings_schema.py"


def test_every_setting_of_the_file_is_in_the_schema() -> None:
    """And no other key but the two of the head."""
    known = {each.key for each in declared() if not each.never_in_file}
    assert known == settings_schema.schema()["properties"].keys() - {"apiVersion", "kind"}


@pytest.mark.parametrize("setting", declared(), ids=lambda each: each.name)
def test_a_default_fits_its_type(setting: Any) -> None:
    """What the schema shows as a default is what could be written."""
    properties = json.loads(settings_schema.SCHEMA.read_text())["properties"]
    if not setting.never_in_file:
        shown = properties[setting.key]
        assert isinstance(shown["default"], PYTHON[shown["type"]])
        assert not setting.choices or shown["default"] in shown["enum"]


TRIED: dict[str, list[Any]] = {
    "text": ["", "50", "x", "127.0.0.1:9178", ":1", "a b", "5", "555"],
    "seconds": [0, 0.5, 1, 90, 91, -1, 1e9],
    "choice": ["json", "nri", "baseline", "fast"],
    "commas": [[each] for each in ("macvlan", "all", "sriov", "", "a/b", "-x")],
    "repeated": [
        [each]
        for each in (
            "eth1=10", "10", "0", "0010", "eth1=0", "eth1=4096", "eth1=5000", "eth1:10", "=10",
            "eth1=", "e h=1", "a,b=1", "ens*=64", "eth1", "ens*", "a/b", "", "10G", "eth1=10G",
            "eth1=1.5Gi", "eth1=1e9", "eth1=1000000.", "eth1=-1G", "eth1=fast", "eth1=10 G",
            "eth1=99E", "equal", "eth1=equal", "eth1=equa",
            "10.244.0.0/16", "fd00::/64", "10.0.0.1/8", "ten/8", "10.0.0.0/255.0.0.0",
        )
    ],
}  # fmt: skip
# What a reader refuses and no pattern can: numbers that are too large, links that are not plain.
BEYOND: dict[str, set[str]] = {
    "attachments": {"eth1=5000"},
    "slots": {"eth1=4096", "eth1=5000"},
    "linkBandwidth": {"10", "eth1=10", "eth1=4096", "eth1=5000", "0010", "ens*=64"},
    "defaultBandwidth": {"10", "eth1=10", "eth1=4096", "eth1=5000", "0010", "ens*=64"},
    "podNetwork": {"10.0.0.1/8"},
}


@pytest.mark.parametrize(
    "setting", [each for each in declared() if each.form in TRIED], ids=lambda each: each.name
)
def test_schema_and_reader_agree(setting: Any) -> None:
    """What the schema refuses the driver refuses, and of lists also the other way round."""
    if setting.never_in_file:
        return
    shape = settings_schema.schema()["properties"][setting.key]
    for value in TRIED[setting.form]:
        try:
            setting.read(value)
            taken = True
        except (RequestError, KeyError):
            taken = False
        fits = _fits(value, shape)
        assert fits or not taken, f"the schema refuses {value!r}, and the driver takes it"
        if setting.form in {"repeated", "seconds"} and setting.key != "cniBinDir":
            beyond = isinstance(value, list) and value[0] in BEYOND.get(setting.key, ())
            assert taken or beyond or not fits, f"the driver refuses {value!r}, not the schema"


def _fits(value: Any, shape: dict[str, Any]) -> bool:
    """Whether a value is one by the words of JSON schema that are used here."""
    if isinstance(value, list):
        return all(_fits(each, shape["items"]) for each in value)
    return (
        ("enum" not in shape or value in shape["enum"])
        and ("not" not in shape or value not in shape["not"]["enum"])
        and ("pattern" not in shape or re.search(shape["pattern"], value) is not None)
        and not ("maxLength" in shape and len(value) > shape["maxLength"])
        and not ("minimum" in shape and value < shape["minimum"])
        and not ("maximum" in shape and value > shape["maximum"])
        and not ("exclusiveMinimum" in shape and value <= shape["exclusiveMinimum"])
    )


def test_the_example_is_valid() -> None:
    """It says only what the driver takes, and keeps the types that the schema asks for."""
    resolved = Sources(declared(), {}, EXAMPLE, check=check_together).read()
    assert {"linkFilter", "attachments"} <= {e.setting.key for e in resolved.in_file.values()}
    properties = settings_schema.schema()["properties"]
    for key, value in read_document(EXAMPLE.read_bytes(), EXAMPLE.name).data().items():
        wanted = properties[key]
        assert (
            value == wanted["const"]
            if "const" in wanted
            else isinstance(value, PYTHON[wanted["type"]])
        )


def test_the_pages_example_is_valid(tmp_path: Path) -> None:
    """The file that docs/driver.md shows is one that the driver takes."""
    (text,) = YAML.findall(section("driver.md", "Settings"))
    (tmp_path / "config.yaml").write_text(text)
    resolved = Sources(declared(), {}, tmp_path / "config.yaml", check=check_together).read()
    assert resolved["attachments"].of("eth1") == 10
