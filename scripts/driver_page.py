#!/usr/bin/env python3
"""Write the tables of docs/driver.md that follow from declarations, or check them.

    python scripts/driver_page.py           writes them
    python scripts/driver_page.py --check   writes nothing; exits 1 if they are stale

The table of flags is made from the settings (`netclaim.network.settings`), that of metrics from
`framework/telemetry/metrics.py` and `network/metrics/table.py`. Limit: the rest of the page, log
events among it, is written by hand.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from netclaim.framework.settings import Setting
from netclaim.framework.settings.sources import CONFIG_OPTION, CONFIG_VARIABLE
from netclaim.framework.telemetry import Metric
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import SystemClock
from netclaim.network.metrics.table import METRICS
from netclaim.network.settings import declared

PAGE = Path(__file__).resolve().parent.parent / "docs" / "driver.md"
FLAG_HEAD = ("Flag", "Environment variable", "Key in the file", "Change", "Default", "Meaning")
METRIC_HEAD = ("metric", "type", "labels", "meaning")


def text() -> str:
    """The page as the declarations say today."""
    page = _between(PAGE.read_text(), "flags", _rows(FLAG_HEAD, _flags()))
    return _between(page, "metrics", _rows(METRIC_HEAD, map(_metric, metrics())))


def metrics() -> tuple[Metric, ...]:
    """Every metric that `netclaim driver` serves: every driver's, then the network driver's."""
    return (*Metrics("", SystemClock()).declared, *METRICS)


def _between(page: str, name: str, table: str) -> str:
    begin, end = f"<!-- the {name}: begin -->\n", f"<!-- the {name}: end -->\n"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{table}\n{end}{after}"


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _flags() -> Iterator[tuple[str, ...]]:
    about = "The [file of settings](#settings)."
    yield f"`{CONFIG_OPTION}`", f"`{CONFIG_VARIABLE}`", "no", "restart", "none", about
    for each in declared():
        yield (
            f"`{each.option}`",
            f"`{each.variable}`",
            "no" if each.never_in_file else f"`{each.key}`",
            "live" if each.live else "restart",
            _default(each),
            " ".join(_meaning(each)),
        )


def _default(setting: Setting) -> str:
    if setting.name == "node_name":
        return "the host's name"
    if setting.form == "switch":
        return "on" if setting.default else "off"
    said = setting.default if isinstance(setting.default, list) else [setting.default]
    return ", ".join(f"`{each}`" for each in said if each != "") or "none"


def _meaning(setting: Setting) -> Iterator[str]:
    yield setting.text
    if setting.form == "switch":
        yield f"`--no-{setting.option.removeprefix('--')}` turns it off."
    for other in setting.also:
        yield f"`{other}` is another name for it."
    if setting.page:
        yield f"See [{setting.page.partition('#')[0]}]({setting.page})."


def _metric(each: Metric) -> tuple[str, ...]:
    labels = (f"`{label}`: {_values(values)}" for label, values in each.labels.items())
    return f"`{each.name}`", each.kind, "; ".join(labels), each.text


def _values(values: tuple[str, ...] | str) -> str:
    """The values of a label, or what bounds them."""
    return values if isinstance(values, str) else ", ".join(f"`{value}`" for value in values)


def main() -> int:
    """Write, or say that it is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    if parser.parse_args().check:
        stale = PAGE.read_text() != text()
        print(PAGE.name if stale else "", file=sys.stderr)
        return 1 if stale else 0
    PAGE.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
