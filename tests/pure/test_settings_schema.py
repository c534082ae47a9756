"""The JSON schema of the settings file is the declarations', and the example fits it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from netclaim.framework.setting_sources import Sources
from netclaim.manifests.documents import read_document
from netclaim.network.settings import check_together, declared
from scripts import settings_schema
from tests.pure.doc_pages import ROOT, section

EXAMPLE = ROOT / "examples" / "driver-config.yaml"
YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
PYTHON: dict[str, Any] = {"string": str, "number": (int, float), "boolean": bool, "array": list}


def test_the_schema_is_current() -> None:
    """Whoever changes a setting runs the script."""
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
