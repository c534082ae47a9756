"""`netclaim driver gc`: have the driver of this node remove what is left over, or list it.

Promise: it prints one line for each thing and exits with 0; if no driver answers, with one line
and 1. Limit: it only asks; the running driver decides, as it does by itself every ten minutes.
"""

import time
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from netclaim.chained import AGAIN, Listing, Refusal, encode_collect
from netclaim.cli.asking import ask_driver
from netclaim.cli.options.settings import takes_settings
from netclaim.errors import PeerError
from netclaim.framework.settings.sources import Followed

AGAIN_S: Final = 0.5  # a driver that is leaving has a successor within seconds
AGAIN_TIMES: Final = 20

DryRun: TypeAlias = Annotated[
    bool,
    typer.Option("--dry-run", help="Only list what would be removed."),
]


@takes_settings("name", "run_dir")
def command(followed: Followed, *, dry_run: DryRun = False) -> None:
    """Remove what is left over on this node.

    Asks the running driver for a round of garbage collection, as it does by itself every ten
    minutes: interfaces, addresses and files of the driver that belong to no existing pod or claim
    are removed, and listed one per line. What is younger than a minute is left alone. Needs root.
    """
    settings = followed.started
    path = settings["run_dir"] / settings["name"] / "attach.sock"
    for line in _ask(path, dry_run=dry_run):
        print(line)


def _ask(path: Path, *, dry_run: bool) -> tuple[str, ...]:
    for _ in range(AGAIN_TIMES):
        answer = ask_driver(path, encode_collect(dry_run=dry_run))
        if isinstance(answer, Listing):
            return answer.lines
        if isinstance(answer, Refusal):
            raise PeerError(f"the driver refused: {answer.message}")
        if answer != AGAIN:
            break
        time.sleep(AGAIN_S)
    raise PeerError("the driver did not answer; try again")
