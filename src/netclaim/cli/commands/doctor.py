"""`netclaim doctor`: what keeps netclaim from working here, and what to do about it.

Promise: it changes nothing. It exits with 0 if nothing is wrong, with 1 if there are errors (with
`--strict` also for warnings), with 2 if it could not look: a wrong option, or no cluster.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from netclaim.cli.options.formats import FORMATS, document
from netclaim.cli.options.settings import takes_settings
from netclaim.doctor.cluster.sight import Account, ClusterSight
from netclaim.doctor.examine import examine
from netclaim.doctor.finding import Outcome, Result
from netclaim.doctor.node.sight import NodeSight
from netclaim.doctor.show import as_json, show
from netclaim.doctor.support.archive import STDOUT, SUFFIXES, refuse_existing, write_archive
from netclaim.doctor.support.collect import collect
from netclaim.errors import RequestError
from netclaim.framework import Settings
from netclaim.framework.settings.fields import host_name
from netclaim.framework.settings.flags import settings_of
from netclaim.framework.settings.sources import Followed
from netclaim.kube import Client, Cluster, KubeConfigError, connect, load_cluster
from netclaim.screen import screen_for

PROBLEMS: Final = 1
ACCOUNT: Final = Account("netclaim-system", "netclaim-driver")
NOTHING: Final = (
    "there is nothing to look at: no cluster is configured, and this machine does not look like a"
    " node; name a cluster with --kubeconfig, or use --node"
)


class Outputs(NamedTuple):
    """What `--output` asks for: a format on standard output, and perhaps an archive."""

    form: str
    archive: Path | None


@takes_settings(
    "node_name",
    "state_dir",
    "kubelet_dir",
    "runtime_hook",
    "run_dir",
    "cni_conf_dir",
    "cni_program_dir",
    "nri_socket",
    "runtime_socket",
    "cdi_dir",
    "http_address",
    "name",
    "lease_dir",
    "cni_path",
)
def command(
    followed: Followed,
    *,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Look at the cluster of the kubeconfig.")
    ] = False,
    node: Annotated[bool, typer.Option("--node", help="Look at this node. Needs root.")] = False,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--output",
            metavar="text|json|FILE.tgz",
            help="Output format; a name that ends in .tgz or .tar.gz writes an archive for a "
            "maintainer, without secrets, and - writes it to standard output. May be given twice.",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Explain every check, also those that are ok.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 for warnings, too.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an archive that exists.")] = False,
    kubeconfig: Annotated[
        str, typer.Option(metavar="FILE", help="The kubeconfig file. Default: kubectl's.")
    ] = "",
    context: Annotated[str, typer.Option(help="The context of the kubeconfig.")] = "",
    namespace: Annotated[
        str,
        typer.Option(
            "-n",
            "--namespace",
            help="The namespace of the driver. Default: that of its DaemonSet, or "
            f"{ACCOUNT.namespace}.",
        ),
    ] = "",
    service_account: Annotated[
        str, typer.Option(help="The driver's service account, if it has no DaemonSet.")
    ] = ACCOUNT.name,
) -> None:
    r"""Find out what is wrong with a cluster or node, and what to do.

    Looks at the cluster if a kubeconfig is found, and at this machine if it is a node and you are
    root; --cluster and --node choose. On a node, give it the same options as the driver. Changes
    nothing.

    Exits with 0 if nothing is wrong, with 1 if there are errors, and with 2 if it could not look.

    \b
    Examples:
      netclaim doctor
      netclaim doctor --node
      netclaim doctor --output support.tgz
      kubectl -n netclaim-system exec POD -- netclaim doctor --node
    """
    outputs = _outputs(output or ())
    said = followed.started
    settings, name = settings_of(said), said["name"]
    if outputs.archive is not None:
        refuse_existing(outputs.archive, force=force)
    there = _cluster(kubeconfig, context, asked=cluster, node=node)
    here = (
        NodeSight(
            settings,
            name,
            said["lease_dir"],
            tuple(map(Path, said["cni_path"])),
            in_pod="KUBERNETES_SERVICE_HOST" in os.environ,
        )
        if node or (not cluster and _is_node(settings))
        else None
    )
    if there is None and here is None:
        raise RequestError(NOTHING)
    looked_at = [
        *([f"the cluster at {there.server}"] if there else ()),
        *([f"the node {settings.node_name or host_name()}"] if here else ()),
    ]

    def sight(client: Client) -> ClusterSight:
        account = ACCOUNT._replace(name=service_account)
        return ClusterSight(client, driver=name, account=account, namespace=namespace)

    results = asyncio.run(_run(there, here, looked_at, sight=sight, outputs=outputs, force=force))
    if outputs.archive == STDOUT:
        pass  # the report contains the findings
    elif outputs.form != "text":
        print(document(as_json(looked_at, results), outputs.form))
    else:
        show(looked_at, results, screen_for(sys.stdout), verbose=verbose)
    bad = (Outcome.ERROR, Outcome.WARNING) if strict else (Outcome.ERROR,)
    if any(each.finding.outcome in bad for each in results):
        raise typer.Exit(PROBLEMS)


def _outputs(given: Sequence[str]) -> Outputs:
    archives = [each for each in given if each == str(STDOUT) or each.endswith(SUFFIXES)]
    forms = [each for each in given if each not in archives]
    for each in forms:
        if each not in FORMATS:
            raise RequestError(
                f'unknown format "{each}"; write {", ".join(FORMATS)}, or a file name that ends in'
                " .tgz",
                path=("--output",),
            )
    if len(archives) > 1 or len(forms) > 1:
        raise RequestError("at most one format and one file can be given", path=("--output",))
    return Outputs(forms[0] if forms else FORMATS[0], Path(archives[0]) if archives else None)


def _cluster(kubeconfig: str, context: str, *, asked: bool, node: bool) -> Cluster | None:
    """Return the cluster to examine; without --cluster there need not be one."""
    if asked or kubeconfig or context:
        return load_cluster(kubeconfig, context)
    if node:
        return None
    try:
        return load_cluster()
    except KubeConfigError:
        return None


def _is_node(settings: Settings) -> bool:
    """Whether this machine looks like a node that we may examine."""
    return os.geteuid() == 0 and (settings.kubelet_dir / "plugins_registry").is_dir()


async def _run(
    there: Cluster | None,
    here: NodeSight | None,
    looked_at: Sequence[str],
    *,
    sight: Callable[[Client], ClusterSight],
    outputs: Outputs,
    force: bool,
) -> list[Result]:
    progress = screen_for(sys.stderr)
    async with AsyncExitStack() as stack:
        cluster = (
            sight(await stack.enter_async_context(connect(there))) if there is not None else None
        )
        with progress.working(f"looking at {' and '.join(looked_at)}"):
            here = replace(here, cluster=cluster) if here is not None else None
            results = await examine(cluster, here)
        if outputs.archive is not None:
            with progress.working(f"collecting for {outputs.archive}"):
                members = await collect(cluster, here, looked_at, results)
            write_archive(outputs.archive, members, force=force)
            print(f"netclaim: wrote {outputs.archive} ({len(members)} files)", file=sys.stderr)
    return results
