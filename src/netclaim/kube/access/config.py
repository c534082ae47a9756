"""Find the cluster to talk to, and as whom: from a pod's service account or a kubeconfig.

Order: the kubeconfig that is named, `$KUBECONFIG`, the pod's service account, `~/.kube/config`.
Promise: what is missing is named in one line. Limit: certificate authorities are read once; if a
cluster replaces its own, the programs that use it have to be restarted.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from netclaim.kube.access.cluster import Cluster, Trust
from netclaim.kube.access.credentials import StoredSecrets
from netclaim.kube.access.kubeconfig import read_kubeconfig
from netclaim.kube.errors import KubeConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")  # kubelet mounts it there


def load_cluster(
    kubeconfig: str = "",
    context: str = "",
    *,
    environ: Mapping[str, str] = os.environ,
    account: Path = SERVICE_ACCOUNT,
) -> Cluster:
    """Return the cluster to talk to, in the order that this module's docstring gives."""
    if kubeconfig:
        return read_kubeconfig([Path(kubeconfig)], context)
    named = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if named:
        return read_kubeconfig(named, context)
    if environ.get("KUBERNETES_SERVICE_HOST") and not context:
        return in_cluster(environ=environ, account=account)
    default = Path(environ.get("HOME", "/")) / ".kube" / "config"
    if not default.exists():
        raise KubeConfigError(
            f"no cluster is configured: not in a pod, no $KUBECONFIG and no {default};"
            " name a kubeconfig with --kubeconfig"
        )
    return read_kubeconfig([default], context)


def load_server(
    kubeconfig: str = "",
    context: str = "",
    *,
    environ: Mapping[str, str] = os.environ,
    account: Path = SERVICE_ACCOUNT,
) -> Cluster:
    """Return where the API server is, in the same order, without credentials for it.

    A pod needs no token for that, only the certificate authority.
    """
    if not kubeconfig and not environ.get("KUBECONFIG") and not context:
        address = _address(environ)
        try:
            authority = (account / "ca.crt").read_bytes()
        except OSError as error:
            raise KubeConfigError(f"{error.filename}: {error.strerror}") from error
        return Cluster(address, StoredSecrets(), Trust(authority=authority))
    found = load_cluster(kubeconfig, context, environ=environ, account=account)
    return Cluster(found.server, StoredSecrets(), found.trust, proxy=found.proxy)


def _address(environ: Mapping[str, str]) -> str:
    """Return the URL of the API server of the cluster that this pod runs in."""
    try:
        host = environ["KUBERNETES_SERVICE_HOST"]
        port = environ["KUBERNETES_SERVICE_PORT"]
    except KeyError as error:
        raise KubeConfigError(f"not in a pod: ${error.args[0]} is not set") from error
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def in_cluster(
    *, environ: Mapping[str, str] = os.environ, account: Path = SERVICE_ACCOUNT
) -> Cluster:
    """Return the cluster this pod runs in, as its service account."""
    address = _address(environ)
    token = account / "token"
    try:
        authority = (account / "ca.crt").read_bytes()
        namespace = (account / "namespace").read_text().strip()
        token.read_bytes()
    except OSError as error:
        raise KubeConfigError(
            f"{error.filename}: {error.strerror}; does the pod have automountServiceAccountToken?"
        ) from error
    return Cluster(
        server=address,
        credentials=StoredSecrets(token=token),
        trust=Trust(authority=authority),
        namespace=namespace,
    )
