"""`netclaim explain`: why a claim gets its device, or why not, down to the clause of a selector.

Promise: it only reads files and a cluster. It exits with 0 if everything asked about fits or is
allocated, with 1 if something cannot be or has a mistake, with 2 if the input cannot be read.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

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
from netclaim.cli.options.formats import document, refuse_unknown_format
from netclaim.errors import RequestError

if TYPE_CHECKING:
    from netclaim.kube import Cluster
    from netclaim.manifests.objects import Object

CANNOT: Final = 1
NO_SLICES: Final = (
    "the files have no ResourceSlice, so there are no devices; add what"
    " `kubectl get resourceslices,nodes,deviceclasses -o yaml` prints, or name a cluster with"
    " --context"
)


@uncollected()
def command(
    *,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[[KIND/]NAME]",
            help="A pod, claim or template, as kubectl names it. Default: everything that needs "
            "devices.",
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
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="text|json|yaml", help="Output format.")
    ] = "text",
) -> None:
    r"""Show why claims get their devices, or why not.

    Lists for every node and device which selector is false and the value that it found, which claim
    holds the device, and any other reason, with the nearest miss first. Also reports mistakes that
    the driver or an API server would refuse. Reads a cluster, or files that include
    ResourceSlices, or files as if they were applied to a cluster. Changes nothing.

    Exits with 0 if everything asked about fits or is allocated, with 1 if something cannot be
    allocated, does not run, or has a mistake in its manifest or parameters, and
    with 2 if the input cannot be read.

    \b
    Examples:
      netclaim explain my-claim
      netclaim explain pod/my-pod -n team-a
      netclaim explain -A
      netclaim explain -f claim.yaml --context kind       before it is applied
      kubectl get resourceslices,nodes,deviceclasses -o yaml > links.yaml
      netclaim explain -f claim.yaml -f links.yaml        without a cluster
    """
    from netclaim.explain.answer import answer_all
    from netclaim.explain.mistakes import find_mistakes, find_strays
    from netclaim.explain.pools import find_pools
    from netclaim.explain.show import as_json, show
    from netclaim.explain.subject import choose
    from netclaim.explain.world import read_world
    from netclaim.screen import screen_for
    from netclaim.survey.files import read_own

    refuse_unknown_format(output)
    refuse_both_namespaces(namespace, all_namespaces=all_namespaces)
    names, files = told_apart(arguments or (), files or ())
    name = _one_name(names)
    if not files:
        _refuse_makers(name)
    live = not files or bool(kubeconfig or context or local or pid)
    cluster = cluster_of(kubeconfig, context, local=local, pid=pid) if live else None
    usual = namespace or (cluster.namespace if cluster else "default")
    own = read_own(files, usual, recursive=recursive) if files else ()
    if files and not own:
        raise RequestError(f"{', '.join(files)}: no manifests found")
    objects = own if cluster is None else _applied(own, cluster, "" if all_namespaces else usual)
    world = read_world(objects)
    if cluster is None and not world.slices:
        raise RequestError(NO_SLICES)
    asked = {found.key for found in own}
    space = namespace if files or all_namespaces else usual
    subjects = choose(world, name, space, among=lambda key: not files or key in asked)
    strays = () if name else find_strays(own, subjects)
    if not subjects and files and not strays:
        raise RequestError(f"{', '.join(files)}: nothing needs devices")
    if not subjects and not files:
        where = f"namespace {space}" if space else "all namespaces"
        print(f"{where}: nothing needs devices", file=sys.stderr)
    mistakes, pools = find_mistakes(objects, subjects), find_pools(objects, subjects)
    answers = [
        replace(
            answer,
            mistakes=mistakes[answer.subject.key],
            pools=pools.get(answer.subject.key, ()),
        )
        for answer in answer_all(world, subjects)
    ]
    if output != "text":
        print(document(as_json(answers, strays), output))
    else:
        screen = screen_for(sys.stdout)
        show(answers, strays, screen, details=bool(name) or len(answers) == 1)
    if strays or not all(answer.is_well for answer in answers):
        raise typer.Exit(CANNOT)


def _one_name(names: Sequence[str]) -> str:
    """Return the name that was asked about, if any."""
    from netclaim.explain.names import kind_named

    match names:
        case [kind, name] if kind_named(kind) and "/" not in name:  # as `kubectl get pod web`
            names = [f"{kind}/{name}"]
    if len(names) > 1:
        raise RequestError(f"{names[1]}: only one name is allowed, and {names[0]} is given too")
    return "".join(names)


def _refuse_makers(name: str) -> None:
    """Refuse workloads: on a cluster their pods exist, and hold the devices."""
    from netclaim.explain.names import kind_named
    from netclaim.manifests.kinds import POD_SPECS

    word, slash, _ = name.partition("/")
    kind = kind_named(word) if slash else ""
    if kind in POD_SPECS and kind != "Pod":
        raise RequestError(f"{name}: a {kind} is explained from files only; name one of its pods")


def _applied(own: "Sequence[Object]", cluster: "Cluster", usual: str) -> "tuple[Object, ...]":
    """Read a cluster, with the files' objects as if they were applied to it.

    Without a namespace, all namespaces are read.
    """
    import asyncio

    from netclaim.survey.cluster import read_cluster

    spaces = {found.key.namespace for found in own if usual} - {""} or {usual}
    there = asyncio.run(read_cluster(cluster, spaces.pop() if len(spaces) == 1 else ""))
    return (*there, *_over(own, there))


def _over(own: "Sequence[Object]", there: "Sequence[Object]") -> "list[Object]":
    """Return the files' objects with the status that they have in the cluster."""
    from netclaim.manifests.objects import Object, ObjectKey

    known: dict[ObjectKey, Object] = {found.key: found for found in there}
    over = []
    for found in own:
        status = known[found.key].object.get("status") if found.key in known else None
        kept = {**found.object, "status": status} if status else found.object
        over.append(replace(found, object=kept))
    return over
