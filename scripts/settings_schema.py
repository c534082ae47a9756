#!/usr/bin/env python3
"""Write the JSON schema of the driver's file of settings, or check it.

    python scripts/settings_schema.py           writes it
    python scripts/settings_schema.py --check   writes nothing; exits 1 if it is stale

The schema is made from the declarations of the settings (`netclaim.network.settings`). It is an
object without references, so that a Helm chart's `values.schema.json` can hold it as it is.
Promise: what it refuses, the driver refuses; patterns say of texts as much as patterns can. Limit:
the driver refuses more, such as settings that contradict each other.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from netclaim.framework.settings.declare import Setting
from netclaim.framework.settings.file import HEAD, KIND
from netclaim.network.settings import declared

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "charts" / "netclaim" / "files" / "settings.schema.json"
STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "path": {"type": "string"},
    "choice": {"type": "string"},
    "seconds": {"type": "number"},
    "switch": {"type": "boolean"},
    "repeated": STRINGS,
    "commas": STRINGS,
}
LIVE = "A change takes effect while the driver runs."
LATER = "A change needs a restart of the driver."


def schema() -> dict[str, Any]:
    """Return the schema as the declarations say today."""
    keys = {each.key: _property(each) for each in declared() if not each.never_in_file}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": KIND,
        "description": "The settings of netclaim's driver; see docs/driver.md.",
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {"const": value} for key, value in HEAD.items()} | keys,
    }


def _property(setting: Setting) -> dict[str, Any]:
    default = str(setting.default) if setting.form == "path" else setting.default
    shape = TYPES[setting.form]
    if "items" in shape:
        shape = {**shape, "items": {**shape["items"], **setting.limits}}
    else:
        shape = {**shape, **setting.limits}
    return {
        **shape,
        **({"enum": list(setting.choices)} if setting.choices else {}),
        "description": f"{setting.text} {LIVE if setting.live else LATER}",
        "default": default,
        "x-netclaim-live": setting.live,
    }


def text() -> str:
    """Return the file's content."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write, or say that it is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    if parser.parse_args().check:
        stale = not SCHEMA.exists() or SCHEMA.read_text() != text()
        print(SCHEMA.relative_to(ROOT) if stale else "", file=sys.stderr)
        return 1 if stale else 0
    SCHEMA.parent.mkdir(parents=True, exist_ok=True)
    SCHEMA.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
