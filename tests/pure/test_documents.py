"""What the pages show is what the files hold."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
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
