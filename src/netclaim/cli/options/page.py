"""The page in the browser beside a command: where it is served, and what the command waits for."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from netclaim.screen import Screen

Ui: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--ui", help="Show it on a page in the browser, as `netclaim ui` does. Implies --keep."
    ),
]
Port: TypeAlias = Annotated[
    int,
    typer.Option(
        min=0,
        max=65535,
        metavar="PORT",
        help="The port of the page on 127.0.0.1. Default: a free one.",
        show_default=False,
    ),
]


def page_of(
    name: str, drivers: frozenset[str], *, wait: bool
) -> "Callable[[Screen], AbstractAsyncContextManager[None]]":
    """Open a socket now, and return what serves an embedded cluster on it from the inside.

    With `wait`, it begins only when somebody looks at the page, or presses Enter.
    """
    import sys
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    from netclaim import __version__
    from netclaim.kube import load_cluster
    from netclaim.local.cluster import KUBECONFIG
    from netclaim.local.staying_up import read_line
    from netclaim.tasks import race
    from netclaim.ui.running import listening, serving
    from netclaim.ui.sources import live
    from netclaim.ui.view import Question

    on = listening(0)

    @asynccontextmanager
    async def beside(screen: "Screen") -> AsyncIterator[None]:
        question = Question(name, drivers, every_driver=True, version=__version__)
        async with serving(question, live(load_cluster(str(KUBECONFIG))), on) as page:
            screen.title("The page")
            screen.line(page.url)
            if wait:
                typing = sys.stdin.isatty()
                or_enter = ", or when you press Enter" if typing else ""
                screen.line(f"The pods start when this address is open in a browser{or_enter}.")
                sys.stdout.flush()
                await race(page.seen.wait(), *([read_line()] if typing else []))
            else:
                screen.line("Open this address in a browser of this machine.")
                sys.stdout.flush()
            yield

    return beside
