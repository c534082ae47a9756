"""`netclaim controller`: the cluster's side of netclaim, until SIGTERM.

Promise: a bad value is refused before anything starts. Limit: this only puts the parts together.
"""

import os
import socket
from typing import Annotated, Literal

import typer

from netclaim.cli.options.cluster import Context, Kubeconfig
from netclaim.controller.settings import DRIVER_PODS, HTTP_ADDRESS, ControllerSettings
from netclaim.network import DRIVER_NAME


def command(
    *,
    driver_name: Annotated[
        str,
        typer.Option(envvar="NETCLAIM_DRIVER_NAME", help="The name of the drivers on the nodes."),
    ] = DRIVER_NAME,
    namespace: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_NAMESPACE",
            help="The namespace that netclaim is installed in: of the lease by which replicas take "
            "turns, of the drivers' pods, and of the templates that are copied. Without it, this "
            "must be the only replica.",
        ),
    ] = "",
    driver_pods: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_DRIVER_PODS", help="The labels of the drivers' pods, as a selector."
        ),
    ] = DRIVER_PODS,
    network_namespaces: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_NETWORK_NAMESPACES",
            help="The namespaces, separated by commas, whose NetworkAttachmentDefinitions are "
            "trusted as PodNetworks are. Those of others are only for their own namespace's pods, "
            "and within what a claim may do there.",
        ),
    ] = "",
    count_addresses: Annotated[
        bool,
        typer.Option(
            "--count-addresses/--no-count-addresses",
            envvar="NETCLAIM_COUNT_ADDRESSES",
            help="Tell the scheduler how many addresses the AddressPools have, so that pods wait "
            "for one before they have a node. Needs Kubernetes 1.36.",
        ),
    ] = True,
    identity: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_IDENTITY",
            help="This replica's name in the lease. Default: the host's name.",
        ),
    ] = "",
    http_address: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_HTTP_ADDRESS",
            help="Where /healthz, /readyz and /metrics are served; empty for nowhere. On another "
            "address than a loopback one, requests need a token of an account that may get the "
            "path, and the port is served on 127.0.0.1 as well, without a token.",
        ),
    ] = HTTP_ADDRESS,
    http_certificate: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_HTTP_CERTIFICATE",
            help="A certificate (PEM) for HTTPS on that address; read again when it has changed.",
        ),
    ] = "",
    http_key: Annotated[
        str,
        typer.Option(envvar="NETCLAIM_HTTP_KEY", help="The key (PEM) of --http-certificate."),
    ] = "",
    health_socket: Annotated[
        str,
        typer.Option(
            envvar="NETCLAIM_HEALTH_SOCKET",
            help="A Unix socket that serves the same, for probes of this process.",
        ),
    ] = "",
    log_format: Annotated[
        str, typer.Option(envvar="NETCLAIM_LOG_FORMAT", help="The form of the log: json or text.")
    ] = "json",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Make networks available to pods, for the whole cluster.

    Keeps a DeviceClass and claim templates for each PodNetwork, makes claims for pods that name
    their networks in Multus' annotation, copies the claim templates that an admin annotated, and
    has kubelet ask again for pods whose claims can be prepared now; runs until SIGTERM. Several
    replicas take turns.
    """
    import asyncio

    from netclaim.controller.process.serve import serve_controller
    from netclaim.framework.process.http import Place
    from netclaim.framework.telemetry.logs import configure_logs
    from netclaim.kube import load_cluster

    form: Literal["json", "text"] = "text" if log_format == "text" else "json"
    configure_logs(form)
    settings = ControllerSettings(
        driver_name=driver_name,
        identity=identity or f"{socket.gethostname()}-{os.getpid()}",
        lease_namespace=namespace,
        driver_namespace=namespace,
        driver_pods=driver_pods,
        template_namespace=namespace,
        count_addresses=count_addresses,
        network_namespaces=frozenset(filter(None, map(str.strip, network_namespaces.split(",")))),
    )
    cluster = load_cluster(kubeconfig, context)
    place = Place(http_address, http_certificate, http_key, health_socket)
    asyncio.run(serve_controller(cluster, settings, place))
