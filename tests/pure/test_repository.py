"""What runs before a commit is what `make` runs; what there may be one of, there is one of."""

import ast
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_hooks_are_what_lint_runs() -> None:
    """Each check of `make lint` is a hook before a commit, from .venv, and nothing is fetched."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (repo,) = hooks["repos"]
    assert repo["repo"] == "local"
    makefile = (ROOT / "Makefile").read_text()
    for hook in repo["hooks"]:
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/")
        name = Path(program).name
        assert f"-m {name}" in makefile or f".venv/bin/{name}" in makefile


def test_the_workflow_runs_make_test() -> None:
    """What is run for a pull request is `make test`, and actions are pinned by version."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yaml").read_text())
    steps = workflow["jobs"]["test"]["steps"]
    assert "make test" in steps[-1]["run"]
    for step in steps:
        assert "uses" not in step or step["uses"].rpartition("@")[2].count(".") == 2


def test_manifests_have_one_reader() -> None:
    """YAML is read by `manifests` alone, and by the embedded API server, with the same loader."""
    source = ROOT / "src" / "netclaim"
    allowed = {source / "local" / "api" / "bodies.py"}
    for path in set(source.rglob("*.py")) - allowed - set((source / "manifests").iterdir()):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names=names):
                    imported = {each.name.partition(".")[0] for each in names}
                case ast.ImportFrom(module=str(module)):
                    imported = {module.partition(".")[0]}
                case _:
                    continue
            assert "yaml" not in imported, f"{path}: read YAML by netclaim.manifests"


def test_contributors_are_sent_to_places_that_exist() -> None:
    """The files in the table of where something new goes are there."""
    _, _, rest = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where something new goes")
    named = re.findall(r"`([\w/.-]+\.(?:py|md))`", rest.partition("\n## ")[0])
    assert len(named) > 20
    for name in named:
        places = (ROOT, ROOT / "src" / "netclaim", ROOT / "tests" / "pure")
        assert any((place / name).exists() for place in places), name
