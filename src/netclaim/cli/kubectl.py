"""`kubectl netclaim`: all commands as a plugin of kubectl, which finds programs by their names.

`kubectl-netclaim` is netclaim with that name in its usage texts; without a command it is `netclaim
status`: `kubectl netclaim pods -A`. kubectl calls `kubectl_complete-netclaim` for completions, with
the words so far as arguments; it prints a line for each, and a last one that says what else the
shell may offer.
"""

import os
import shlex
import sys
from typing import Final

from netclaim.cli import COMMANDS, main
from netclaim.cli.app import build_app

NAME: Final = "kubectl netclaim"
OF_NETCLAIM: Final = ("-h", "--help", "--version", "--install-completion", "--show-completion")
NO_FILES: Final = ":4"  # cobra's directive: do not offer the names of files


def run() -> None:
    """Run as `kubectl-netclaim`."""
    main(_with_command(sys.argv[1:]), name=NAME)


def _with_command(words: list[str]) -> list[str]:
    """Put `status` before the words if they are no command but something that can be shown."""
    from netclaim.status.scope import WORDS  # noqa: PLC0415 - help has to be quick

    first = words[0] if words else ""
    if first in COMMANDS or first in OF_NETCLAIM:
        return words
    shows = not first or first.startswith("-") or first.partition("/")[0] in WORDS
    return ["status", *words] if shows else words


def complete() -> None:
    """Run as `kubectl_complete-netclaim`."""
    words = ["netclaim", *sys.argv[1:]]
    os.environ["_NETCLAIM_COMPLETE"] = "complete_bash"
    os.environ["COMP_WORDS"] = shlex.join(words).removesuffix("''")
    os.environ["COMP_CWORD"] = str(len(words) - 1)
    try:
        build_app()(args=[], prog_name="netclaim")
    except SystemExit:
        print(NO_FILES)
