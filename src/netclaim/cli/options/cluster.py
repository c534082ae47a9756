"""Which cluster a command reads: the same options everywhere, with kubectl's names."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from netclaim.errors import RequestError

if TYPE_CHECKING:
    from netclaim.kube import Cluster

Namespace: TypeAlias = Annotated[
    str,
    typer.Option(
        "-n",
        "--namespace",
        help="Only this namespace. Default: all that the files have, or the context's.",
    ),
]
AllNamespaces: TypeAlias = Annotated[
    bool, typer.Option("-A", "--all-namespaces", help="All namespaces of the cluster.")
]
Kubeconfig: TypeAlias = Annotated[
    str, typer.Option(metavar="FILE", help="The kubeconfig file. Default: kubectl's.")
]
Context: TypeAlias = Annotated[str, typer.Option(help="The context of the kubeconfig.")]
Local: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--local", help="The embedded cluster that `netclaim try --keep` or `demo --keep` runs."
    ),
]
Pid: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="PID",
        help="The embedded cluster of this process; --local is enough if only one runs.",
        show_default=False,
    ),
]


def cluster_of(kubeconfig: str, context: str, *, local: bool, pid: int) -> "Cluster":
    """Return the cluster that was named; an embedded one is entered until this process ends."""
    if not local and not pid:
        from netclaim.kube import load_cluster

        return load_cluster(kubeconfig, context)
    if kubeconfig or context:
        raise RequestError(
            "--local and --pid cannot be used together with --kubeconfig or --context"
        )
    from netclaim.local.entering import enter_cluster

    return enter_cluster(pid)


def refuse_both_namespaces(namespace: str, *, all_namespaces: bool) -> None:
    if namespace and all_namespaces:
        raise RequestError("--namespace and --all-namespaces cannot be used together")
