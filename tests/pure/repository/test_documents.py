"""What the pages show is what the files hold."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "tenant"


def test_the_tenants_page_shows_the_tenants_files() -> None:
    """The first three manifests of the how-to are the example's files."""
    page = (ROOT / "docs" / "tenant-network.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    shown = [list(yaml.safe_load_all(block)) for block in blocks[:3]]
    held = [
        list(yaml.safe_load_all((EXAMPLES / name).read_text()))
        for name in ("class.yaml", "namespace.yaml", "pod.yaml")
    ]
    assert shown == held


def test_the_import_laws_are_the_documented_ones() -> None:
    """The architecture page has every law that import-linter enforces, in the same words."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    page = (ROOT / "docs" / "architecture.md").read_text()
    for contract in settings["tool"]["importlinter"]["contracts"]:
        law = contract["name"].replace("<-", "←")
        assert law in " ".join(page.split()), f"docs/architecture.md does not have: {law}"


def test_every_package_is_on_the_map() -> None:
    """The architecture page says of each package what it is, import-linter what it may import."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    placed = {name for layer in layers for name in layer.split(" | ")}
    package = ROOT / "src" / "netclaim"
    for path in package.iterdir():
        if (path / "__init__.py").exists():
            place = 'the table in docs/architecture.md, "Who imports whom"'
            assert f"| `{path.name}` |" in page, f"add a row for {path.name} to {place}"
            place = 'the layers of the contract "layers" in pyproject.toml'
            assert f"netclaim.{path.name}" in placed, f"add netclaim.{path.name} to {place}"


def test_the_readme_shows_a_whole_example() -> None:
    """The README's first manifest is the example's file, which its first output is of."""
    page = (ROOT / "README.md").read_text()
    block = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert block is not None
    _, _, held = (ROOT / "examples" / "networks" / "media-net.yaml").read_text().partition("\n")
    assert block[1] == held
    assert "<!-- output of: netclaim try -f examples/networks/media-net.yaml -->" in page
