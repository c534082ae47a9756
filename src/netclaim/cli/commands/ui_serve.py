"""`netclaim ui serve`: the page in a cluster, for many people, each with the rights of their token.

Promise: it has no rights of its own; of a kubeconfig it uses where the API server is, and how to
verify it. It runs until SIGTERM or Ctrl-C.
"""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from netclaim.cli.options.cluster import Context, Kubeconfig
from netclaim.network import DRIVER_NAME

if TYPE_CHECKING:
    from netclaim.framework.process.http import Place
    from netclaim.kube import Cluster
    from netclaim.ui.view import Question

ADDRESS: Final = "127.0.0.1:8080"


def command(
    *,
    address: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_UI_ADDRESS",
            metavar="HOST:PORT",
            help="Where to listen; without HOST on every address.",
        ),
    ] = ADDRESS,
    certificate: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_UI_CERTIFICATE",
            metavar="FILE",
            help="A certificate (PEM) for HTTPS; read again when it has changed. Without it, "
            "tokens cross the network as they are, unless a proxy beside this process encrypts.",
        ),
    ] = "",
    key: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_UI_KEY", metavar="FILE", help="The key (PEM) of --certificate."
        ),
    ] = "",
    title: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_UI_TITLE",
            metavar="TEXT",
            help="What the page calls the cluster. Default: the API server's address.",
        ),
    ] = "",
    driver_name: Annotated[
        str,
        typer.Option(envvar="NETCLAIM_DRIVER_NAME", metavar="NAME", help="The driver to show."),
    ] = DRIVER_NAME,
    all_drivers: Annotated[
        bool,
        typer.Option(
            "--all-drivers",
            envvar="NETCLAIM_UI_ALL_DRIVERS",
            help="Show the devices of every driver.",
        ),
    ] = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Serve the page in a cluster, to each viewer with the rights of their own token.

    The page asks for a token, or a proxy in front sends one in the header `Authorization: Bearer`.
    Every request to the API server has exactly that token; this process has no rights of its own.
    The chart's value `ui.enabled` runs it. Runs until SIGTERM.
    """
    import asyncio

    from netclaim import __version__
    from netclaim.framework.process.http import Place
    from netclaim.kube.access.config import load_server
    from netclaim.ui.view import Question

    server = load_server(kubeconfig, context)
    question = Question(
        title or server.server,
        frozenset({driver_name}),
        every_driver=all_drivers,
        version=__version__,
    )
    asyncio.run(_serve(server, question, Place(address, certificate, key)))


async def _serve(server: "Cluster", question: "Question", place: "Place") -> None:
    import asyncio
    import logging
    import signal

    import structlog

    from netclaim.ui.shared.server import shared_serving

    # What interrupts a view is shown on its page.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with shared_serving(server, question, place) as (host, port):
        scheme = "https" if place.certificate else "http"
        shown = f"[{host}]" if ":" in host else host
        typer.echo(f"{scheme}://{shown}:{port}/")
        await stopped.wait()
