"""`netclaim convert`: what Multus reads, as PodNetworks, claim templates and pods with claims.

Claims that are written for dranet become claims on netclaim's driver.

Promise: objects that Multus does not read stay byte for byte; converted ones keep their comments
and order where the new form has a place for them. Nothing is written unless everything can be, and
a file is replaced whole or not at all. What is not carried over is named, and refused without
`--lossy`. A cluster is only read.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from netclaim.cli.options.cluster import AllNamespaces, Context, Kubeconfig, Local, Pid, cluster_of
from netclaim.cli.options.files import Files, InPlace, MoreFiles, OutputDirectory, Recursive, named
from netclaim.errors import RequestError
from netclaim.screen.words import counted

if TYPE_CHECKING:
    from netclaim.convert.objects import Conversion
    from netclaim.model.pools.address_space import IpNetwork


def command(
    *,
    more_files: MoreFiles = None,
    files: Files = None,
    recursive: Recursive = False,
    live: Annotated[
        bool,
        typer.Option("--cluster", help="Convert what is in a cluster; it is only read."),
    ] = False,
    namespace: Annotated[
        str,
        typer.Option(
            "-n",
            "--namespace",
            help="The namespace of objects that name none; with --cluster, the one to convert.",
        ),
    ] = "",
    all_namespaces: AllNamespaces = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    local: Local = False,
    pid: Pid = 0,
    in_place: InPlace = False,
    output: OutputDirectory = None,
    take: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CIDR",
            help="Addresses that pools take from whereabouts, which goes on with the rest of its "
            "ranges and has to exclude these. May be given several times.",
        ),
    ] = None,
    lossy: Annotated[
        bool,
        typer.Option("--lossy", help="Convert the rest if something cannot be carried over."),
    ] = False,
) -> None:
    r"""Convert networks and pods of Multus, and claims for dranet.

    Reads NetworkAttachmentDefinitions, and pods and workloads with the annotation
    k8s.v1.cni.cncf.io/networks, from any number of files or from a cluster; in files also claims,
    templates and classes for the driver dra.net. Everything else stays as it is. Prints to stdout
    by default, and what to know about it to stderr. Exits with 2, and writes nothing, if anything
    cannot be read or carried over.

    \b
    Examples:
      netclaim convert -f networks.yaml -f pods.yaml      show it
      netclaim convert --in-place -R -f manifests/        convert where they are
      netclaim convert -f app.yaml | netclaim try -f -    see it work, without a cluster
      netclaim convert --cluster -n team-a > team-a.yaml  one namespace of a cluster
    """
    import asyncio

    from netclaim.cli.file_results import check_targets, stream, targets_of, write_files
    from netclaim.convert.cluster import read_cluster
    from netclaim.convert.documents import converted_text
    from netclaim.convert.objects import convert_objects
    from netclaim.manifests.reading import read_objects
    from netclaim.manifests.text.files import raise_faults, read_files

    sources = named(files, more_files)
    taken = [_network(text) for text in take or ()]
    if live or kubeconfig or context or local or pid:
        if sources or in_place or output is not None:
            raise RequestError("a cluster is converted to stdout; leave out files and --output")
        cluster = cluster_of(kubeconfig, context, local=local, pid=pid)
        space = "" if all_namespaces else namespace or cluster.namespace
        there, unread = asyncio.run(read_cluster(cluster))
        conversion = convert_objects(there, space, taken, unread)
        _report(conversion, lossy=lossy)
        sys.stdout.write(_yaml(conversion))
        print(_total(conversion), file=sys.stderr)
        return
    if all_namespaces:
        raise RequestError("--all-namespaces is for a cluster; add --cluster, or leave it out")
    check_targets(sources, in_place=in_place, output=output)
    read = read_files(sources, recursive=recursive)
    targets = targets_of(read, in_place=in_place, output=output)
    objects, faults = read_objects(read)
    raise_faults([fault.as_error() for fault in faults])
    conversion = convert_objects(
        [one.in_namespace(namespace) if namespace else one for one in objects], taken=taken
    )
    _report(conversion, lossy=lossy)
    texts = {file: converted_text(file.documents, conversion.replacements) for file in read}
    if targets:
        write_files(
            {
                targets[file]: text
                for file, text in texts.items()
                if output is not None or text != file.text
            }
        )
    else:
        sys.stdout.write(stream(list(texts.values())))
    print(_total(conversion), file=sys.stderr)


def _network(text: str) -> "IpNetwork":
    import ipaddress

    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise RequestError(
            "must be a network; for example 10.10.1.128/25", path=("--take",)
        ) from error


def _report(conversion: "Conversion", *, lossy: bool) -> None:
    """Say what to know; RequestError if nothing can be written.

    That is if something is not carried over and nobody accepted that, or for a part that is taken
    of no range: a pool would have everything that whereabouts has.
    """
    for remark in dict.fromkeys(map(str, conversion.remarks)):
        print(remark, file=sys.stderr)
    if conversion.unmatched:
        parts = " and ".join(map(str, conversion.unmatched))
        raise RequestError(
            f"nothing written: no pool that is made here has addresses of {parts}; take what is"
            " in a range that is converted, from its range_start to its range_end",
            path=("--take",),
        )
    lost = sum(remark.lost for remark in conversion.remarks)
    if lost and not lossy:
        what = f"{counted(lost, 'item')} cannot be carried over; use --lossy to convert the rest"
        raise RequestError(f"nothing written: {what}")


def _yaml(conversion: "Conversion") -> str:
    """Return what the objects of a cluster became."""
    from netclaim.manifests.text.yaml_dialect import dump

    found = conversion.replacements.values()
    return "---\n".join(dump(each) for one in found for each in (*one.before, one.object))


def _total(conversion: "Conversion") -> str:
    networks = counted(conversion.networks, "network")
    if conversion.claims and not conversion.networks and not conversion.workloads:
        return f"{counted(conversion.claims, 'object')} of dranet converted"
    dranet = f", {counted(conversion.claims, 'object')} of dranet" if conversion.claims else ""
    pools = f", {counted(conversion.pools, 'AddressPool')} made" if conversion.pools else ""
    return f"{networks} and {counted(conversion.workloads, 'workload')} converted{pools}{dranet}"
