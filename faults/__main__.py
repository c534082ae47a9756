"""`python -m faults`: the fault campaign on a lab of its own, which is gone afterwards."""

import argparse
import signal
import sys
from pathlib import Path

from faults.burst import BurstResult
from faults.campaign import Plan, run
from faults.chart_site import ChartSite
from faults.report import table, write_json
from faults.site import Site, site
from faults.table import FAULTS
from lab.cluster import Lab
from lab.errors import LabError
from lab.progress import Progress

__all__ = ["main"]

LAB = "faults"


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--only", metavar="NAME,…", default="", help="these faults, of --list")
    parser.add_argument("--skip", metavar="NAME,…", default="", help="all but these faults")
    parser.add_argument("--pods", type=int, default=15, help="pods with claims in a burst (15)")
    parser.add_argument("--plain", type=int, default=5, help="pods without claims in a burst (5)")
    parser.add_argument("--rounds", type=int, default=1, help="how often each fault happens (1)")
    parser.add_argument(
        "--runtime-hook", choices=("nri", "cni", "both"), help="given to the driver as it is"
    )
    parser.add_argument(
        "--chart", action="store_true", help="with the driver and the controller of the chart"
    )
    parser.add_argument("--time-limit", type=float, default=90, metavar="MIN", help="(90)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="everything, as JSON")
    parser.add_argument(
        "--logs", type=Path, metavar="DIR", help="keep every log of bursts with violations"
    )
    parser.add_argument("--list", action="store_true", help="show the faults and end")
    parser.add_argument("--name", default=LAB, help="of the lab")
    parser.add_argument(
        "driver_options",
        nargs="*",
        metavar="-- OPTION",
        help="of the driver, or with --chart helm's",
    )
    return parser.parse_args(arguments)


def chosen(only: str, skip: str) -> list[str]:
    """Return the names of the faults that are wanted, in the order of the table."""
    named = {name for name in f"{only},{skip}".split(",") if name}
    unknown = sorted(named - FAULTS.keys())
    if unknown:
        sys.exit(f"faults: no fault is called {', '.join(unknown)}; --list shows them")
    wanted = set(only.split(",")) if only else set(FAULTS)
    return [name for name in FAULTS if name in wanted and name not in skip.split(",")]


def main() -> None:
    """Run the campaign; exit code 1 on any violation, 130 if interrupted."""
    given = options()
    if given.list:
        width = max(map(len, FAULTS))
        for fault in FAULTS.values():
            print(f"{fault.name.ljust(width)}  {fault.stage.ljust(8)}  {fault.what}")
        return
    # A campaign that is asked to end takes its lab away, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    option = "--set=settings.runtimeHook" if given.chart else "--runtime-hook"
    hook = (f"{option}={given.runtime_hook}",) if given.runtime_hook else ()
    plan = Plan(
        faults=tuple(FAULTS[name] for name in chosen(given.only, given.skip)),
        rounds=given.rounds,
        claimed=given.pods,
        plain=given.plain,
        mode=given.runtime_hook or "default",
        limit_s=60 * given.time_limit,
        logs=given.logs,
    )
    results: list[BurstResult] = []
    code = 0
    try:
        kind = ChartSite if given.chart else Site
        with site(Lab(given.name, Progress()), (*hook, *given.driver_options), kind) as made:
            left_out = run(made, plan, results)
            if left_out:
                print(f"the time was too short for {len(left_out)} bursts: {', '.join(left_out)}")
    except KeyboardInterrupt:
        print("interrupted; the lab is gone", file=sys.stderr)
        code = 130
    except LabError as error:
        print(f"faults: {error}", file=sys.stderr)
        code = error.exit_code
    finally:
        if results:
            print(table(results))
            if given.output:
                write_json(results, given.output)
    sys.exit(code or int(any(result.violations for result in results)))


if __name__ == "__main__":
    main()
