"""Move the fragments of changelog.d/ into CHANGELOG.md, as the section of a release.

    python scripts/changelog.py 0.1.0 2026-12-01

Promise: each fragment is one item, in the order of the files' names, as it was written. Limit: only
moves text; the release is made by hand, as docs/releasing.md says.
"""

import argparse
import datetime as dt
import textwrap
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parent.parent
HEAD_END: Final = "one fragment a change.\n"  # where the page's head ends, and releases begin


def section(version: str, day: str, fragments: list[str]) -> str:
    """The text of one release."""
    items = ["- " + textwrap.indent(text.strip(), "  ").lstrip() for text in fragments]
    return f"\n## {version}, {day}\n\n" + "\n".join(items) + "\n"


def with_release(changelog: str, release: str) -> str:
    """The changelog with a release before the earlier ones."""
    head, mark, earlier = changelog.partition(HEAD_END)
    if not mark:
        raise SystemExit(f"CHANGELOG.md does not have the line that ends with {HEAD_END.strip()!r}")
    return head + mark + release + earlier


def main() -> None:
    """Write the changelog, and remove the fragments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", help="The version that is released, such as 0.1.0.")
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    parser.add_argument("day", nargs="?", default=today, help="Its date. Default: today.")
    options = parser.parse_args()
    paths = sorted((CHECKOUT / "changelog.d").glob("*.md"))
    if not paths:
        raise SystemExit("changelog.d/ has no fragments")
    changelog = CHECKOUT / "CHANGELOG.md"
    release = section(options.version, options.day, [path.read_text() for path in paths])
    changelog.write_text(with_release(changelog.read_text(), release))
    for path in paths:
        path.unlink()


if __name__ == "__main__":
    main()
