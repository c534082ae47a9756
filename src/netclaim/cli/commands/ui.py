"""`netclaim ui`: a page in the browser that shows what `status` and `explain` know.

Promise: it only reads a cluster or files, and listens on a loopback address only. It runs until
Ctrl-C or SIGTERM, and exits with 130 then; with 2 if the input cannot be read.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from netclaim.cli.options.cluster import Context, Kubeconfig, Local, Namespace, Pid, cluster_of
from netclaim.cli.options.files import Files, MoreFiles, Recursive, named
from netclaim.cli.options.page import Port
from netclaim.errors import INTERRUPTED, RequestError
from netclaim.network import DRIVER_NAME

if TYPE_CHECKING:
    import socket
    from contextlib import AbstractAsyncContextManager

    from netclaim.ui.running import Source
    from netclaim.ui.view import Question


def command(
    *,
    more_files: MoreFiles = None,
    files: Files = None,
    recursive: Recursive = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    local: Local = False,
    pid: Pid = 0,
    driver_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"The driver to show. May be given several times. Default: {DRIVER_NAME}.",
            show_default=False,
        ),
    ] = None,
    all_drivers: Annotated[
        bool, typer.Option("--all-drivers", help="Show the devices of every driver.")
    ] = False,
    port: Port = 0,
) -> None:
    r"""Show nodes, links, networks, claims and pods in a browser.

    Prints the address of a page on this machine, which follows the cluster until Ctrl-C: problems
    first, each node with its links and who uses them, and for a pod that waits, which device it
    misses by which condition. Reads a cluster, or files: what `kubectl get nodes,resourceslices,
    deviceclasses,resourceclaims,resourceclaimtemplates,pods -A -o yaml` prints. Changes nothing.

    The page is for everybody who has its address, which ends in a token that is made anew each
    time. From another machine, forward the port: ssh -L 8800:127.0.0.1:8800 HOST, and --port 8800
    there.

    \b
    Examples:
      netclaim ui                              the cluster of the current context
      netclaim ui --context prod --port 8800
      netclaim ui -f dump.yaml                 a saved cluster
      netclaim ui --local                      the cluster of `netclaim try --keep`
      netclaim demo --ui                       the demo, from its first pod on
    """
    import asyncio

    from netclaim import __version__
    from netclaim.ui.running import listening
    from netclaim.ui.view import Question

    sources = named(files, more_files)
    if sources and (kubeconfig or context or local or pid):
        raise RequestError("files cannot be combined with a cluster")
    on = listening(port)  # before an embedded cluster is entered, where no browser is
    drivers = frozenset(driver_name or (DRIVER_NAME,))
    lent: AbstractAsyncContextManager[Source]
    if sources:
        lent, source = _of_files(sources, namespace, recursive=recursive), ", ".join(sources)
    else:
        from netclaim.ui.sources import live

        cluster = cluster_of(kubeconfig, context, local=local, pid=pid)
        lent = live(cluster, namespace)
        source = "embedded cluster" if local or pid else context or cluster.server
    question = Question(
        source, drivers, every_driver=all_drivers, is_live=not sources, version=__version__
    )
    raise typer.Exit(asyncio.run(_serve(question, lent, on)))


def _of_files(
    sources: list[str], namespace: str, *, recursive: bool
) -> "AbstractAsyncContextManager[Source]":
    from contextlib import nullcontext

    from netclaim.survey.files import read_dump
    from netclaim.ui.sources import Files

    objects = read_dump(sources, namespace or "default", recursive=recursive)
    if not objects:
        raise RequestError(f"{', '.join(sources)}: no manifests found")
    return nullcontext(Files(objects))


async def _serve(
    question: "Question", lent: "AbstractAsyncContextManager[Source]", on: "socket.socket"
) -> int:
    import asyncio
    import logging
    import signal

    import structlog

    from netclaim.screen import screen_for
    from netclaim.ui.running import serving

    # What interrupts the page is shown on it.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    working = asyncio.create_task(stopped.wait())
    async with serving(question, lent, on) as page:
        screen = screen_for(sys.stdout)
        screen.line(page.url)
        screen.line("Open this address in a browser of this machine. Ctrl-C ends it.")
        sys.stdout.flush()
        await working
    return INTERRUPTED
