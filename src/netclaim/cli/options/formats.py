"""The formats of `--output` that several commands have: text for people, JSON for programs."""

from typing import Final

from netclaim.errors import RequestError

FORMATS: Final = ("text", "json")


def refuse_unknown_format(output: str) -> None:
    if output not in FORMATS:
        known = " or ".join(FORMATS)
        raise RequestError(f'unknown format "{output}"; write {known}', path=("--output",))
