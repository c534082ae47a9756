"""What the Dockerfile's last stage says about how the image runs.

One declaration serves `docker build` and the lab's own builder. Reads the instructions that the
file uses, in the spelling that it uses; refuses any other, so that nothing is silently left out.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import CHECKOUT
from lab.errors import UsageError

__all__ = ["DOCKERFILE", "Settings", "instructions", "read_settings"]

DOCKERFILE = CHECKOUT / "Dockerfile"
VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of an image."""

    entrypoint: tuple[str, ...]
    user: str
    environment: Mapping[str, str]
    labels: Mapping[str, str]


def read_settings(version: str, file: Path = DOCKERFILE) -> Settings:
    """Return the settings of the last stage, with `version` for the argument VERSION."""
    arguments = {"VERSION": version}
    pairs: dict[str, dict[str, str]] = {"ENV": {}, "LABEL": {}}
    entrypoint, user = (), ""
    for name, value in _last_stage(file):
        match name:
            case "ENV" | "LABEL":
                text = VARIABLE.sub(lambda found: arguments[found[1]], value)
                pairs[name] |= dict(each.split("=", 1) for each in shlex.split(text))
            case "ENTRYPOINT":
                entrypoint = tuple(json.loads(value))
            case "USER":
                user = value
            case "ARG" if value.partition("=")[0] in arguments:
                pass
            case "COPY":
                pass  # the layers, as scripts/image_tree.py lays them out
            case _:
                raise UsageError(f"{file.name}: the lab cannot follow {name} {value}")
    return Settings(entrypoint, user, pairs["ENV"], pairs["LABEL"])


def _last_stage(file: Path) -> list[tuple[str, str]]:
    every = list(instructions(file.read_text()))
    begin = max(at for at, (name, _) in enumerate(every) if name == "FROM")
    return every[begin + 1 :]


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each instruction and what follows it, with continued lines joined; no comments."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", "").splitlines():
        name, _, value = line.partition(" ")
        yield name, value.strip()
