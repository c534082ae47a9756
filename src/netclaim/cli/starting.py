"""The first files of a new driver: those of `starter`, with its own names in them.

Promise: all files are written, or none; nothing is written over.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from netclaim.cli.file_results import write_files
from netclaim.errors import RequestError
from netclaim.framework.settings.fields import subdomain

STARTER: Final = Path(__file__).parent / "starter"
NAME_MAX: Final = 63  # what a ResourceSlice accepts as a driver's name
FILES: Final = ("starter_driver.py", "starter.yaml", "test_starter_driver.py")
NAMES: Final = re.compile(r"starter\.example\.com|starter_driver|STARTER|Starter|starter")


def start_driver(name: str, output: Path | None) -> tuple[Path, ...]:
    """Write the files of a driver, and return where they are."""
    subdomain(name, NAME_MAX)
    label = name.partition(".")[0]
    words = label.split("-")
    names = {
        "starter.example.com": name,
        "starter_driver": "_".join([*words, "driver"]),  # never the name of a module of Python's
        "STARTER": "_".join(words).upper(),
        "Starter": "".join(word.capitalize() for word in words),
        "starter": label,
    }
    if not label[0].isalpha():  # modules, classes and variables of the environment cannot
        raise RequestError(f"{name!r} begins with a digit, which its class could not")
    target = output or Path(label)
    texts = {
        target / _named(file, names): _named((STARTER / file).read_text(), names) for file in FILES
    }
    for path in texts:
        if path.exists():
            raise RequestError(f"{path} exists already; choose another directory with --output")
    target.mkdir(parents=True, exist_ok=True)
    write_files(texts)
    return tuple(texts)


def _named(text: str, names: Mapping[str, str]) -> str:
    """A text with the names of the new driver."""
    return NAMES.sub(lambda found: names[found[0]], text)
