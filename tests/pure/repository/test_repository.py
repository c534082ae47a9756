"""What runs before a commit is what `make` runs; what there may be one of, there is one of."""

import re
import shlex
from pathlib import Path

import yaml

from scripts import labels as labels_script

ROOT = Path(__file__).parents[3]


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
    """The jobs of a pull request are lint and every rung, and actions are pinned by version."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yaml").read_text())
    makefile = (ROOT / "Makefile").read_text()
    run = ""
    for job in workflow["jobs"].values():
        *_, last = job["steps"]
        target = last["run"].partition("make ")[2]
        recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert recipe, f"the Makefile has no target {target!r}"
        run += recipe[1]
        for step in job["steps"]:
            assert "uses" not in step or step["uses"].rpartition("@")[2].count(".") == 2
    assert list(workflow["jobs"]) == ["lint", "pure", "root", "cluster"]
    assert "mypy" in run
    for rung in ("pure", "embedded", "reference", "cluster"):
        assert re.search(rf"pytest.* tests/{rung}\b", run), f"no job runs tests/{rung}"


def test_contributors_are_sent_to_places_that_exist() -> None:
    """The files in the table of where something new goes are there."""
    _, _, rest = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where something new goes")
    named = re.findall(r"`([\w/.-]+\.(?:py|md))`", rest.partition("\n## ")[0])
    assert len(named) > 20
    for name in named:
        tests = ROOT / "tests"
        places = (ROOT, ROOT / "src" / "netclaim", tests / "pure", tests / "cluster")
        assert any((place / name).exists() for place in places), name


def test_labels_are_those_of_the_templates() -> None:
    """Each label that an issue gets from its template exists, as the code host accepts it."""
    labels = yaml.safe_load((ROOT / ".github" / "labels.yml").read_text())
    names = [label["name"] for label in labels]
    assert len(set(names)) == len(names)
    for label in labels:
        assert re.fullmatch("[0-9a-f]{6}", label["color"]), label["name"]
        assert len(label["description"]) <= 100  # what the code host takes
    for template in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"):
        head = yaml.safe_load(template.read_text().split("---")[1])
        assert head["labels"] in names, template.name
    assert [shlex.split(command)[-1] for command in labels_script.commands()] == names
