"""Move the fragments of changelog.d/ into CHANGELOG.md, as the section of a release.

    python scripts/changelog.py 0.2.0 2026-12-01
    python scripts/changelog.py --show 0.2.0        prints that section, for the tag

Promise: each fragment is one item, as it was written, wrapped like every page; those that tell
users to do something, in bold, come first, and otherwise they are in the order of the files' names.
Limit: only moves text; the release is made by hand, as docs/releasing.md says.
"""

import argparse
import datetime as dt
import re
import textwrap
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parent.parent
HEAD_END: Final = "one fragment a change.\n"  # where the page's head ends, and releases begin
VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
COLUMNS: Final = 100
STRUCTURED: Final = re.compile(r"^(\s*[-*|] |\s*```|\s*$)", re.MULTILINE)  # not one paragraph


def section(version: str, day: str, fragments: list[str]) -> str:
    """Return the text of one release."""
    ordered = sorted(fragments, key=lambda text: "**" not in text)
    return f"\n## {version}, {day}\n\n" + "\n".join(map(_item, ordered)) + "\n"


def _item(fragment: str) -> str:
    text = fragment.strip()
    if not STRUCTURED.search(text):
        text = textwrap.fill(text, COLUMNS - 2, break_long_words=False, break_on_hyphens=False)
    return "- " + textwrap.indent(text, "  ").lstrip()


def with_release(changelog: str, release: str) -> str:
    """Return the changelog with a release before the earlier ones."""
    head, mark, earlier = changelog.partition(HEAD_END)
    if not mark:
        raise SystemExit(f"CHANGELOG.md does not have the line that ends with {HEAD_END.strip()!r}")
    heading = release.strip().partition(",")[0]
    if f"\n{heading}," in earlier:
        raise SystemExit(f"CHANGELOG.md already has {heading.removeprefix('## ')}")
    return head + mark + release + earlier


def released(changelog: str, version: str) -> str:
    """The section of a release, without its heading."""
    _, found, rest = changelog.partition(f"\n## {version}, ")
    if not found:
        raise SystemExit(f"CHANGELOG.md does not have {version}")
    return rest.partition("\n")[2].partition("\n## ")[0].strip() + "\n"


def a_version(text: str) -> str:
    """Check that a text is a version as releases have them, and return it."""
    if not VERSION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} is not MAJOR.MINOR.PATCH, for example 0.1.0")
    return text


def a_day(text: str) -> str:
    """Check that a text is a date as the changelog has them, and return it."""
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a date like 2026-12-01") from None


def main() -> None:
    """Write the changelog, and remove the fragments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", type=a_version, help="What is released, such as 0.1.0.")
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    parser.add_argument("day", type=a_day, nargs="?", default=today, help="Default: today.")
    shows = "Print the section of a release, and change nothing."
    parser.add_argument("--show", action="store_true", help=shows)
    options = parser.parse_args()
    changelog = CHECKOUT / "CHANGELOG.md"
    if options.show:
        print(released(changelog.read_text(), options.version), end="")
        return
    paths = sorted((CHECKOUT / "changelog.d").glob("*.md"))
    if not paths:
        raise SystemExit("changelog.d/ has no fragments")
    release = section(options.version, options.day, [path.read_text() for path in paths])
    changelog.write_text(with_release(changelog.read_text(), release))
    for path in paths:
        path.unlink()


if __name__ == "__main__":
    main()
