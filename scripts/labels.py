"""Print the commands that create or correct the repository's labels, for a shell to run.

    python scripts/labels.py | sh

Labels that .github/labels.yml does not have are left alone. Changes nothing itself: it only prints.
"""

import shlex
from pathlib import Path
from typing import Final

import yaml

LABELS: Final = Path(__file__).parents[1] / ".github" / "labels.yml"


def commands() -> list[str]:
    create = ["gh", "label", "create", "--force"]
    return [
        shlex.join(
            [*create, "--color", one["color"], "--description", one["description"], one["name"]]
        )
        for one in yaml.safe_load(LABELS.read_text())
    ]


if __name__ == "__main__":
    print("\n".join(commands()))
