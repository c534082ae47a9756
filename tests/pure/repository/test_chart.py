"""The chart as files: its prose, its schema and its versions agree with each other."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import netclaim
from scripts import chart_files

CHART = Path(__file__).parents[3] / "charts" / "netclaim"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
# Objects whose keys are the user's own.
OPEN = {"settings", "resources.requests", "resources.limits", "nodeSelector", "deviceClasses"}
OPEN |= {"metrics.dashboard.labels", "security.seccompProfile", "security.appArmorProfile"}


def leaves(value: dict[str, Any], path: str = "") -> Iterator[str]:
    """The paths of all values that are not made of further ones."""
    for key, inner in value.items():
        here = f"{path}.{key}" if path else key
        if isinstance(inner, dict) and inner and here not in OPEN:
            yield from leaves(inner, here)
        else:
            yield here


def test_files_without_helm_are_current() -> None:
    """README.md is made from values.yaml, and the schema has the settings'; if not: make files."""
    stale = [p.name for p, text in chart_files.plain_files().items() if p.read_text() != text]
    assert stale == []


def test_every_value_has_prose() -> None:
    """The comment above a value is its documentation; an object may have one for all its parts."""
    said = {each.path for each in chart_files.values((CHART / "values.yaml").read_text())}
    silent = [
        path
        for path in leaves(VALUES)
        if path not in said and path.rpartition(".")[0] not in said - {"paths"}
    ]
    assert silent == []


def test_every_value_has_a_schema() -> None:
    """The schema knows each value, and refuses others."""
    for path in leaves(VALUES):
        schema = SCHEMA
        for key in path.split("."):
            assert schema["additionalProperties"] is False, path
            schema = schema["properties"][key]
            schema = (
                SCHEMA["definitions"][Path(schema["$ref"]).name] if "$ref" in schema else schema
            )


def test_schema_has_no_value_that_is_gone() -> None:
    """Every property of the schema is a value of the chart; `global` is Helm's own."""

    def check(schema: dict[str, Any], values: dict[str, Any], path: str) -> None:
        for key, inner in schema.get("properties", {}).items():
            here = f"{path}.{key}" if path else key
            if here == "global" or path in OPEN:
                continue
            assert key in values, here
            if isinstance(values[key], dict):
                check(inner, values[key], here)

    check(SCHEMA, VALUES, "")


def test_documented_settings_exist() -> None:
    """Values in docs/install.md name settings that the driver has, in the file and in the table."""
    page = (CHART.parents[1] / "docs" / "install.md").read_text()
    blocks = re.findall(r'```yaml title="values.yaml"\n(.*?)```', page, re.DOTALL)
    named = {key for block in blocks for key in yaml.safe_load(block).get("settings", {})}
    named |= set(re.findall(r"`settings\.(\w+):", page))
    assert {"attachments", "linkFilter", "policy"} <= named
    assert named <= SCHEMA["properties"]["settings"]["properties"].keys()


def test_chart_installs_this_version() -> None:
    """The image's tag is the chart's appVersion, which is the package's version."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == netclaim.__version__


@pytest.mark.parametrize("name", ["README.md", "values.schema.json"])
def test_a_stale_file_is_found(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The check compares contents, so that an edit by hand shows."""
    real = {path.name: path for path in chart_files.plain_files()}[name]
    edited = tmp_path / name
    edited.write_text(real.read_text() + " ")
    monkeypatch.setattr(chart_files, {"README.md": "README"}.get(name, "SCHEMA"), edited)
    wanted = chart_files.plain_files()
    assert wanted[edited] != edited.read_text()
