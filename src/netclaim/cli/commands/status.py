"""`netclaim status`: nodes, links, claims and pods, who uses what, and what is wrong.

Promise: it only reads a cluster or files. It exits with 0, also if there are problems, unless
`--exit-code` is given; with 2 if the input cannot be read.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, cast, get_args

import typer

from netclaim.cli.garbage import uncollected
from netclaim.cli.options.cluster import (
    AllNamespaces,
    Context,
    Kubeconfig,
    Local,
    Namespace,
    Pid,
    cluster_of,
    refuse_both_namespaces,
)
from netclaim.cli.options.files import Files, Recursive, told_apart
from netclaim.errors import RequestError
from netclaim.network import DRIVER_NAME

if TYPE_CHECKING:
    from netclaim.status.scope import Scope
    from netclaim.status.showing.show import Form, Look
    from netclaim.status.values import Status

PROBLEMS: Final = 1


def command(
    *,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VIEW|KIND/NAME",
            help="nodes, links, claims, pods, networks or pools; or one of these and everything "
            "around it. Default: an overview.",
            autocompletion=lambda: [
                *("nodes", "links", "claims", "pods", "networks", "pools", "kubelet")
            ],
        ),
    ] = None,
    files: Files = None,
    recursive: Recursive = False,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    local: Local = False,
    pid: Pid = 0,
    driver_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help=f"Show the devices of this driver. Default: {DRIVER_NAME}."
        ),
    ] = None,
    all_drivers: Annotated[
        bool, typer.Option("--all-drivers", help="Show the devices of every driver.")
    ] = False,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="text|wide|json|yaml", help="Output format."),
    ] = "text",
    follow: Annotated[
        bool, typer.Option("-w", "--watch", help="Show it again whenever something changes.")
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 if there are errors.")
    ] = False,
) -> None:
    r"""Show nodes, links, claims and pods, and who uses what.

    Problems are listed first, each with what to do about it: pods that wait for a device, claims
    that are not ready, tainted links, nodes that publish nothing. Reads a cluster, or files: what
    `kubectl get nodes,resourceslices,deviceclasses,resourceclaims,pods -A -o yaml` prints. Changes
    nothing. `netclaim status kubelet` shows what the kubelet of this node believes.

    \b
    Examples:
      netclaim status                          drivers and nodes
      netclaim status links -o wide            every link, and who uses it
      netclaim status claims -A
      netclaim status pods --watch
      netclaim status networks                 PodNetworks, their nodes and their pods
      netclaim status pool/media               an AddressPool, and who has its addresses
      netclaim status node/kind-worker         a node and everything on it
      netclaim status pod/app -n team-a -o yaml
      netclaim status -f dump.yaml             a saved cluster
      netclaim status --local                  the cluster of `netclaim try --keep`
    """
    import asyncio

    from netclaim.status.scope import scope_of
    from netclaim.status.showing.displays import display_for
    from netclaim.status.showing.show import Form, Look
    from netclaim.status.showing.tables import absolute
    from netclaim.status.watching import Question, ask, watch

    forms = get_args(Form)
    if output not in forms:
        known = ", ".join(forms)
        raise RequestError(f'unknown format "{output}"; write one of {known}', path=("--output",))
    refuse_both_namespaces(namespace, all_namespaces=all_namespaces)
    names, sources = told_apart(arguments or (), files or ())
    scope = replace(scope_of(names), namespace=namespace)
    drivers = frozenset(driver_name or (DRIVER_NAME,))
    form = cast("Form", output)
    if sources:
        if follow or kubeconfig or context or local or pid:
            raise RequestError("files cannot be combined with a cluster or with --watch")
        status = _from_files(sources, scope, drivers, recursive=recursive, every=all_drivers)
        _print(status, scope, form, Look(wide=form == "wide", when=absolute))
    else:
        cluster = cluster_of(kubeconfig, context, local=local, pid=pid)
        question = Question(
            _scope_on(scope, cluster.namespace, all_namespaces=all_namespaces),
            drivers,
            every_driver=all_drivers,
            usual_namespace=cluster.namespace,
        )
        if follow:
            display = display_for(sys.stdout, question.scope, form)
            raise typer.Exit(asyncio.run(watch(cluster, question, display)))
        with uncollected():
            status = asyncio.run(ask(cluster, question))
        _print(status, question.scope, form, Look(wide=form == "wide"))
    if exit_code and any(one.severity == "error" for one in status.problems):
        raise typer.Exit(PROBLEMS)


def _scope_on(scope: "Scope", usual: str, *, all_namespaces: bool) -> "Scope":
    """Limit claims and pods to the context's namespace, as kubectl does; nodes have none."""
    if scope.namespace or all_namespaces or scope.view not in ("claims", "pods"):
        return scope
    return replace(scope, namespace=usual)


def _from_files(
    sources: Sequence[str], scope: "Scope", drivers: frozenset[str], *, recursive: bool, every: bool
) -> "Status":
    from netclaim.status.compose import compose
    from netclaim.status.scope import narrow
    from netclaim.survey.files import read_dump

    with uncollected():
        objects = read_dump(sources, "default", recursive=recursive)
        if not objects:
            raise RequestError(f"{', '.join(sources)}: no manifests found")
        found = [one.object for one in objects if one.is_known or one.is_taint_rule]
        return narrow(compose(found, drivers, every_driver=every), scope)


def _print(status: "Status", scope: "Scope", form: "Form", look: "Look") -> None:
    from netclaim.screen import screen_for
    from netclaim.status.showing.show import as_json, as_yaml, show

    match form:
        case "json":
            print(as_json(status))
        case "yaml":
            print(as_yaml(status), end="")
        case _:
            show(status, scope, screen_for(sys.stdout), look)
