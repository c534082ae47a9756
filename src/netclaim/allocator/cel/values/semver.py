"""Semantic versions: how they are read, and in which order they are.

Promise: it reads and orders as the library that Kubernetes uses: leading zeros are refused, build
metadata does not count. `normalize` also reads the looser `v1.2` and `01.2.3`.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Self, TypeAlias

from netclaim.allocator.cel.values.digits import whole

NUMBER: Final = r"(?:0|[1-9][0-9]*)"
WORDS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
PATTERN: Final = re.compile(
    rf"(?P<major>{NUMBER})\.(?P<minor>{NUMBER})\.(?P<patch>{NUMBER})"
    rf"(?:-(?P<pre>{WORDS}))?(?:\+(?P<build>{WORDS}))?"
)
UINT64_MAX: Final = 2**64 - 1  # what a part of a version may be upstream
PARTS: Final = 3

# Sorts as versions do: numbers before words, a release after its own pre-releases.
PreRelease: TypeAlias = tuple[int, tuple[tuple[int, int, str], ...]]
RELEASE: Final[PreRelease] = (1, ())


@dataclass(frozen=True, slots=True, order=True)
class Semver:
    """A version; compares by precedence alone."""

    major: int
    minor: int
    patch: int
    pre: PreRelease = RELEASE
    text: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read a version; None if the text is not one."""
        match = PATTERN.fullmatch(text)
        if match is None:
            return None
        major, minor, patch = (whole(match[part]) for part in ("major", "minor", "patch"))
        words = match["pre"].split(".") if match["pre"] else []
        numeric = [whole(word) for word in words if word.isdigit()]
        if max(major, minor, patch, *numeric) > UINT64_MAX:
            return None
        if any(word.isdigit() and word != str(whole(word)) for word in words):
            return None  # a leading zero
        pre = (0, tuple(_rank(word) for word in words)) if words else RELEASE
        return cls(major, minor, patch, pre, text)

    @classmethod
    def normalize(cls, text: str) -> Self | None:
        """Read a version that may begin with v, lack its last parts or have leading zeros."""
        parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", PARTS - 1)]
        if len(parts) < PARTS and re.search(r"[+-]", parts[-1]):
            return None
        return cls.parse(".".join(parts + ["0"] * (PARTS - len(parts))))

    def __str__(self) -> str:
        return self.text


def _rank(word: str) -> tuple[int, int, str]:
    return (0, whole(word), "") if word.isdigit() else (1, 0, word)


def _without_zeros(part: str) -> str:
    if len(part) < 2:  # a lone 0 stays
        return part
    rest = part.lstrip("0")
    return rest if rest[:1].isdigit() else f"0{rest}"
