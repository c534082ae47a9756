"""What runs before a commit and for a pull request is what `make` runs."""

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
