"""`netclaim status kubelet`: what the kubelet of this node believes, beside API and journal.

Promise: it only reads. If something cannot be asked, for example the API server on a node without
a kubeconfig, that is reported and the rest is shown.
"""

import asyncio
import socket
import sys
from typing import Annotated, Final

import msgspec
import typer

from netclaim.cli.options.cluster import Context
from netclaim.cli.options.settings import takes_settings
from netclaim.errors import HostError, NetclaimError, RequestError, faults_in
from netclaim.framework import Settings
from netclaim.framework.journal.read_only import Glimpse, peek
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.settings.flags import settings_of
from netclaim.framework.settings.sources import Followed
from netclaim.kube import Cluster, connect, load_cluster, negotiate
from netclaim.kubelet.pod_resources import list_pod_resources, socket_below
from netclaim.manifests.text.yaml_dialect import dump
from netclaim.plain_text import plain_json
from netclaim.screen import Screen, screen_for
from netclaim.screen.words import counted
from netclaim.status.node_view import NodeView, Said, known_claims, node_view, row_columns
from netclaim.status.objects import read_objects
from netclaim.status.parts.pods import claim_names
from netclaim.status.showing.fit import fit
from netclaim.survey.node import claims_named, pods_on

DIFFERENT: Final = 1
FORMS: Final = ("text", "json", "yaml")


@takes_settings("node_name", "kubelet_dir", "state_dir", "kubeconfig", "name")
def command(
    followed: Followed,
    *,
    context: Context = "",
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="text|json|yaml", help="Output format.")
    ] = "text",
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 if there are differences.")
    ] = False,
) -> None:
    """Show what the kubelet of this node believes, beside the API and the driver's journal.

    Asks kubelet's PodResources service which pods have which claims and devices, and compares that
    with the API server and with the driver's journal. Run it on the node, as root. The kubeconfig
    may be kubelet's own; without one, the API server is left out.
    """
    if output not in FORMS:
        known = ", ".join(FORMS)
        raise RequestError(f'unknown format "{output}"; write one of {known}', path=("--output",))
    said = followed.started
    view = asyncio.run(_look(settings_of(said), context, said["name"]))
    if output == "json":
        print(msgspec.json.format(plain_json(msgspec.json.encode(view))).decode())
    elif output == "yaml":
        print(dump(msgspec.to_builtins(view)), end="")
    else:
        _show(view, screen_for(sys.stdout))
    if exit_code and view.differences:
        raise typer.Exit(DIFFERENT)


async def _look(settings: Settings, context: str, driver: str) -> NodeView:
    kubelet = await list_pod_resources(socket_below(settings.kubelet_dir))
    node = settings.node_name or socket.gethostname()
    notes: list[str] = []
    journal: Glimpse | None = None
    said: Said | None = None
    try:
        journal = peek(NodePlaces.of(settings, driver).journal)
    except HostError as error:
        notes.append(f"the driver's journal was not read: {error}")
    try:
        known = known_claims(kubelet, journal)
        said = await _ask_api(load_cluster(settings.kubeconfig, context), node, known)
    except* NetclaimError as group:
        notes += [f"the API server was not asked: {error}" for error in faults_in(group)]
    if said is not None and kubelet and not said.objects.pods:
        notes.append(f"the API server knows no pods on node {node}; --node-name names another")
        said = None
    return node_view(kubelet, said, journal, drivers=frozenset((driver,)), node=node, notes=notes)


async def _ask_api(cluster: Cluster, node: str, known: frozenset[tuple[str, str]]) -> Said:
    async with connect(cluster) as client:
        version = await negotiate(client)
        pods = read_objects(await pods_on(client, node, version))
        used = {
            (pod.metadata.namespace, name)
            for pod in pods.pods
            for _, name, _ in claim_names(pod)
            if name
        }
        found = await claims_named(client, known | used, version)
    claims = read_objects(found.claims)
    return Said(msgspec.structs.replace(pods, claims=claims.claims), found.hidden)


def _show(view: NodeView, screen: Screen) -> None:
    for note in view.notes:
        screen.line(note)
    for line in view.differences:
        screen.line(f"difference: {line}", good=False)
    if view.claims:
        fitted = fit(row_columns(), view.claims, screen.width)
        screen.table(fitted.header, fitted.rows, wraps=fitted.wraps)
    counts = (
        (view.pods, "pod"),
        (len(view.claims), "claim"),
        (len(view.differences), "difference"),
    )
    sums = ", ".join(counted(number, what) for number, what in counts)
    screen.line(f"node {view.node}: {sums}", good=not view.differences)
