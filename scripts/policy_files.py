#!/usr/bin/env python3
"""Write what is made from the tables of what a claim may say, or check it.

    python -m scripts.policy_files           writes all
    python -m scripts.policy_files --check   writes nothing; names what is stale and exits 1

`docs/security.md` shows the policy's table (`netclaim.network.policy.table`) between two marks, and
`docs/parameters.md` that of the parameters (`netclaim.network.request.keys`);
`docs/plugin-keys.md` lists the keys of the plugins' configuration classes;
the chart's `claim-admission.yaml` says the policy to the API server, so that tenants hear it when
they apply a claim (`claim_admission`); `scripts/chart_files.py` makes deploy/claim-admission.yaml
of it. Promise: the tables are the one source.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from netclaim.network.policy.levels import Level
from netclaim.network.policy.table import (
    COMMON_KEYS,
    IPAM_TYPES,
    SYSCTLS,
    TYPES,
    KeyPolicy,
    TypePolicy,
)
from netclaim.network.request.keys import KEYS, PARAMETERS
from netclaim.plugins.engine.key_rules import DeclaredKey, declared, keys_within
from netclaim.plugins.registry import IPAM_CLASSES, PLUGIN_CLASSES
from netclaim.plugins.strict import CommonConf, ipam_keys, own_keys
from scripts.claim_admission import manifest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "security.md"
PARAMETERS_PAGE = ROOT / "docs" / "parameters.md"
PLUGIN_KEYS_PAGE = ROOT / "docs" / "plugin-keys.md"
SMALL = 1 << 16  # bounds beyond are those of the type, and no news
KEY_HEAD = ("Key", "Type", "What it is")
MANIFEST = ROOT / "charts" / "netclaim" / "templates" / "claim-admission.yaml"
BEGIN, END = "<!-- the policy's table: begin -->\n", "<!-- the policy's table: end -->\n"
BEGIN_KEYS, END_KEYS = "<!-- the keys: begin -->\n", "<!-- the keys: end -->\n"


def stale() -> list[str]:
    """Return the files that differ from the tables."""
    return [path.name for path, text in wanted().items() if path.read_text() != text]


def wanted() -> dict[Path, str]:
    """Return the files as the tables make them."""
    return {
        PAGE: _between(PAGE.read_text(), BEGIN, END, table()),
        PARAMETERS_PAGE: _between(PARAMETERS_PAGE.read_text(), BEGIN_KEYS, END_KEYS, keys()),
        PLUGIN_KEYS_PAGE: _between(
            PLUGIN_KEYS_PAGE.read_text(), BEGIN_KEYS, END_KEYS, plugin_keys()
        ),
        MANIFEST: manifest(),
    }


def _between(text: str, begin: str, end: str, table: str) -> str:
    """Return a page with the table that is current."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{table}\n{end}{after}"


def keys() -> str:
    """Return the parameters in Markdown."""
    rows = ((f"`{key.name}`", key.type, key.set_by.value, key.about) for key in KEYS)
    return _rows(("Key", "Type", "Set by", "What it is"), rows) + "\n"


def table() -> str:
    """Return the whole policy in Markdown."""
    parts = [
        "Parameters of a claim:",
        _rows(("Key", "A claim needs", "About"), _keys(PARAMETERS)),
        "Keys of every plugin in `config`:",
        _rows(("Key", "A claim needs", "About"), _keys(COMMON_KEYS)),
        "Plugins, and their own keys:",
        _rows(("Plugin", "Key", "A claim needs", "About"), _types(TYPES)),
        "Address management (`ipam`), and its keys:",
        _rows(("Type", "Key", "A claim needs", "About"), _types(IPAM_TYPES)),
        "Sysctls that a claim at baseline may set with `tuning`; `IFNAME` is its own interface:",
        "\n".join(f"- `{name}`" for name in SYSCTLS),
    ]
    return "\n\n".join(parts) + "\n"


def plugin_keys() -> str:
    """Return the keys of each plugin's configuration in Markdown."""
    parts = ["Known to every plugin, also where it makes nothing of them:"]
    parts.append(_rows(KEY_HEAD, _declared(declared(CommonConf))))
    for name, kind in sorted(PLUGIN_CLASSES.items()):
        if keys := own_keys(kind):
            parts += [f"`{name}`:", _rows(KEY_HEAD, _declared(keys))]
    for name, kind in sorted(IPAM_CLASSES.items()):
        parts += [f"`ipam` of the type `{name}`:", _rows(KEY_HEAD, _declared(ipam_keys(kind)))]
    return "\n\n".join(parts) + "\n"


def _declared(keys: Mapping[str, DeclaredKey], within: str = "") -> Iterator[tuple[str, ...]]:
    for key in keys.values():
        about = key.rule.about
        if key.rule.choices:
            about += f": {', '.join(f'`{choice}`' for choice in key.rule.choices)}"
        if key.required:
            about += "; required" if about else "required"
        yield f"`{within}{key.name}`", _type(key), about
        brackets, inner = keys_within(key)
        yield from _declared(inner, f"{within}{key.name}{brackets}.")


def _type(key: DeclaredKey) -> str:
    low, high = key.rule.low, key.rule.high
    if low is None or low < 0 or high is None or high > SMALL:
        return key.shown_type
    return f"{key.shown_type} from {low} to {high}"


def _rows(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _types(types: Mapping[str, TypePolicy]) -> Iterator[tuple[str, ...]]:
    for name, rule in types.items():
        needs = _needs(KeyPolicy("", rule.level, own=rule.own))
        yield f"`{name}`", "", needs, rule.about
        if rule.level is Level.BASELINE:
            yield from (("", *row) for row in _keys(rule.keys))


def _keys(keys: Mapping[str, KeyPolicy]) -> Iterator[tuple[str, ...]]:
    for name, key in keys.items():
        yield f"`{name}`", _needs(key), key.about


def _needs(key: KeyPolicy) -> str:
    needs = str(key.level)
    if key.own:
        needs += ", a link of its own"
    if key.values:
        needs += f": {', '.join(key.values)}"
    if key.own_values:
        needs += f"; on a link of its own also {', '.join(key.own_values)}"
    return needs


def main() -> int:
    """Write, or say what is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    if parser.parse_args().check:
        found = stale()
        print("\n".join(found), file=sys.stderr)
        return 1 if found else 0
    for path, text in wanted().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
