"""CEL as an admission policy has it: literals, variables and validations as YAML.

`LEVEL` and what follows it are expressions that several policies have.
"""

import json
import textwrap
from collections.abc import Mapping

from netclaim.network.policy.levels import LABEL
from netclaim.network.request.dranet import BESIDE


def cel(value: object) -> str:
    """Return a literal; CEL writes these as JSON does, and as well with the other quotes."""
    text = json.dumps(value)
    return text if "'" in text else text.replace('"', "'")


LEVEL = f"namespaceObject.metadata.?labels[?'{LABEL}'].orValue(variables.defaultLevel)"
SPEC = "object.kind == 'ResourceClaim' ? object.spec : object.spec.spec"
TYPED = "(has(p.apiVersion) || has(p.kind))"  # the dialect with names of keys of its own
# The dialect of dranet, whose `interface` is an object.
DRANETS = (
    f"(!{TYPED} && !has(p.config) && (has(p.interface) ? type(p.interface) == map : "
    f"{list(BESIDE)}.exists(k, k in p)))"
)


def as_variables(variables: Mapping[str, str]) -> list[str]:
    lines = []
    for name, expression in variables.items():
        lines += [f"  - name: {name}", *_folded("    expression", expression)]
    return lines


def as_validation(expression: str, message: str) -> list[str]:
    return [
        *_folded("  - expression", expression),
        *_folded("    messageExpression", message),
        "    reason: Forbidden",
    ]


def _folded(key: str, text: str) -> list[str]:
    """Return a long line as YAML folds it; the spaces that it is broken at stay spaces."""
    lines = textwrap.wrap(text, width=94, break_long_words=False, break_on_hyphens=False)
    return [f"{key}: >-", *(f"      {line}" for line in lines)]
