"""The formats of `--output` that several commands have: text for people, the others for programs.

JSON and YAML have the same fields.
"""

import json
from typing import Final

from netclaim.errors import RequestError

FORMATS: Final = ("text", "json", "yaml")


def refuse_unknown_format(output: str) -> None:
    if output not in FORMATS:
        known = ", ".join(FORMATS[:-1])
        raise RequestError(
            f'unknown format "{output}"; write {known} or {FORMATS[-1]}', path=("--output",)
        )


def document(text: str, output: str) -> str:
    """Return a document of JSON as it is, or as YAML; it ends with its last line."""
    if output != "yaml":
        return text.rstrip("\n")
    from netclaim.manifests.text.yaml_dialect import dump

    return dump(json.loads(text)).rstrip("\n")
