"""`netclaim demo`: the demo of the KubeCon talk in seconds, on one machine, without a cluster."""

import sys

import typer

from netclaim.cli.options.page import Ui, page_of
from netclaim.cli.options.trial import CniBinDirs, Keep
from netclaim.local.topology import DEFAULT_TOPOLOGY
from netclaim.network import DRIVER_NAME


def command(
    *,
    keep: Keep = False,
    ui: Ui = False,
    cni_bin_dir: CniBinDirs = None,
) -> None:
    """Show the KubeCon demo: three nodes, real links, no cluster.

    Starts three nodes made of namespaces, each with the real driver, and 15 pods that claim a
    macvlan on a link that only one of the nodes has; then a sixteenth pod that gets the same from
    a PodNetwork, by one line. Works as root, or as any user who may create user namespaces. Nothing
    is left behind, even after Ctrl-C.
    """
    import asyncio

    from netclaim.local.demo import DEMO, tell
    from netclaim.local.input.manifests import read_manifests
    from netclaim.local.input.topology_file import load_topology
    from netclaim.local.machine import contained
    from netclaim.local.trial import Trial
    from netclaim.screen import screen_for

    trial = Trial(
        topology=load_topology(DEFAULT_TOPOLOGY),
        manifests=read_manifests([str(DEMO)]),
        driver_names=(DRIVER_NAME,),
        cni_bin_dirs=tuple(path.absolute() for path in cni_bin_dir or ()),
        keep=keep or ui,
        beside=page_of("netclaim demo", frozenset({DRIVER_NAME}), wait=True) if ui else None,
    )
    screen = screen_for(sys.stdout)
    raise typer.Exit(contained(lambda: asyncio.run(tell(trial, screen))))
