"""What runs before a commit is what `make` runs; what there may be one of, there is one of."""

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


def test_contributors_are_sent_to_places_that_exist() -> None:
    """The files in the table of where something new goes are there."""
    _, _, rest = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where something new goes")
    named = re.findall(r"`([\w/.-]+\.(?:py|md))`", rest.partition("\n## ")[0])
    assert len(named) > 20
    for name in named:
        tests = ROOT / "tests"
        places = (ROOT, ROOT / "src" / "netclaim", tests / "pure", tests / "cluster")
        assert any((place / name).exists() for place in places), name
