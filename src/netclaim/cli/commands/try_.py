"""`netclaim try`: manifests on one machine in seconds, with real interfaces and no cluster."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from netclaim.cli.options.files import Files, MoreFiles, Recursive, named
from netclaim.cli.options.formats import refuse_unknown_format
from netclaim.cli.options.page import Ui, page_of
from netclaim.cli.options.policy import POLICY_HELP, PolicyName
from netclaim.cli.options.settings import SettingsCommand
from netclaim.cli.options.trial import CniBinDirs, Keep, TrialSettings
from netclaim.errors import RequestError
from netclaim.local.topology import DEFAULT_TOPOLOGY
from netclaim.plain_text import one_line

COMMAND_CLASS = SettingsCommand


def command(
    *,
    more_files: MoreFiles = None,
    files: Files = None,
    recursive: Recursive = False,
    topology: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="A YAML file with the nodes and their links.", show_default=False
        ),
    ] = DEFAULT_TOPOLOGY,
    driver_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Run the driver under this name. Default: each name that the manifests have "
            "parameters for.",
        ),
    ] = None,
    driver_program: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COMMAND",
            help="Run another driver too: a Python program built on netclaim's framework, with its "
            'own options, such as "gpu.example.com=examples/gpu.py --gpus 2". May be given several '
            "times.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="How many seconds the cluster and the pods may take to start.")
    ] = 60.0,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="text|json|yaml", help="Output format."),
    ] = "text",
    attachments: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PATTERN=]NUMBER",
            help="How many claims may have a link at a time, as the driver's own option. May be "
            "given several times.",
            show_default=False,
        ),
    ] = None,
    link_bandwidth: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PATTERN=]QUANTITY",
            help="The bandwidth of a link that claims share, as the driver's own option. May be "
            "given several times.",
            show_default=False,
        ),
    ] = None,
    link_filter: Annotated[
        str | None,
        typer.Option(
            metavar="EXPR",
            help="Offer only the links of which this CEL expression is true, as the driver's own "
            "option does.",
            show_default=False,
        ),
    ] = None,
    show_links: Annotated[
        str | None,
        typer.Option(
            metavar="EXPR",
            help="Also offer links of which this CEL expression is true, although their names are "
            "such as pod networks use.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        PolicyName | None,
        typer.Option(help=f"{POLICY_HELP} Default: baseline.", show_default=False),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The driver's file of settings, to try it before the cluster has it. Options go "
            "before it.",
            show_default=False,
        ),
    ] = None,
    keep: Keep = False,
    ui: Ui = False,
    cni_bin_dir: CniBinDirs = None,
) -> None:
    r"""Run manifests on one machine: real interfaces, no cluster.

    Takes Pods, Deployments and other workloads, DeviceClasses, claims and templates, of any version
    of resource.k8s.io. Nodes are namespaces, with the links that the topology lists: by default
    there are three, of which kind-worker has eth0 and eth1, and the others have eth0. Works as
    root, or as any user who may create user namespaces. Nothing is left behind. Cards of this
    machine that the topology lists are lent to its nodes meanwhile, which needs root.

    Exits with 0 if all pods got their interfaces, with 1 if some did not (and prints what stopped
    each of them), and with 2 if the manifests are wrong.

    \b
    Examples:
      netclaim try -f deployment.yaml
      netclaim try -f manifests/ --topology rack.yaml
      helm template chart | netclaim try -f - --keep
    """
    import asyncio

    from netclaim.kernel import open_netns
    from netclaim.kernel.host.netns import OWN_NETNS
    from netclaim.local.input.driver_names import driver_names, unserved
    from netclaim.local.input.driver_programs import read_programs
    from netclaim.local.input.manifests import read_manifests
    from netclaim.local.input.topology_file import load_topology
    from netclaim.local.machine import contained
    from netclaim.local.trial import Trial, run_trial
    from netclaim.screen import screen_for

    if timeout <= 0:
        raise RequestError("must be more than 0 seconds", path=("--timeout",))
    refuse_unknown_format(output)
    settings = TrialSettings(
        config=config,
        attachments=attachments,
        link_bandwidth=link_bandwidth,
        link_filter=link_filter,
        show_links=show_links,
        policy=policy,
    )
    programs = read_programs(driver_program or ())
    manifests = read_manifests(named(files, more_files), recursive=recursive)
    drivers = tuple(driver_name or driver_names(manifests.items))
    cluster = load_topology(topology)
    level = settings.policy_level(drivers)
    for note in (*manifests.notes, *unserved(manifests.items, (*drivers, *programs))):
        print(one_line(note), file=sys.stderr)
    trial = Trial(
        topology=cluster,
        machine=open_netns(OWN_NETNS) if cluster.borrowed else None,
        manifests=manifests,
        driver_names=drivers,
        cni_bin_dirs=tuple(path.absolute() for path in cni_bin_dir or ()),
        driver_flags=settings.flags(),
        programs=programs,
        policy=level,
        timeout_s=timeout,
        keep=keep or ui,
        beside=page_of("netclaim try", frozenset(drivers), wait=False) if ui else None,
        json=output != "text",
        yaml=output == "yaml",
    )
    screen = screen_for(sys.stderr if trial.json else sys.stdout)
    raise typer.Exit(contained(lambda: asyncio.run(run_trial(trial, screen))))
