"""Read kubeconfig files into the cluster and the credentials that they describe.

They are read as kubectl does it: several files merge and the first to name a thing wins, relative
paths start at the file that holds them, embedded data wins over a path. Limit: no `auth-provider`
(gone since Kubernetes 1.26) and no password (gone since 1.19); both are refused by name.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from netclaim.kube.access.cluster import Cluster, Trust
from netclaim.kube.access.credentials import Credentials, Secret, StoredSecrets, read_secret
from netclaim.kube.access.exec_plugin import EXEC_VERSIONS, ExecCommand, ExecPlugin
from netclaim.kube.errors import KubeConfigError
from netclaim.manifests.text.documents import ManifestError, read_document

SIZE_MAX = 4 << 20  # hundreds of clusters with embedded certificates fit in one

T = TypeVar("T")


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _Variable(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class _Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str
    api_version: str = ""
    args: tuple[str, ...] | None = None
    env: tuple[_Variable, ...] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    exec: _Exec | None = None
    username: str = ""
    auth_provider: dict[str, Any] | None = None


class _Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster = _Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User = _User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context = _Context()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Found(Generic[T]):
    """An entry and its file, at which relative paths start."""

    value: T
    file: Path

    def path(self, name: str) -> Path:
        return self.file.parent / name

    def secret(self, data: str, path: str, field: str) -> Secret:
        """Return embedded data decoded, else the path, else nothing."""
        if not data:
            return self.path(path) if path else b""
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise KubeConfigError(f"{self.file}: {field} is not base64") from error


def read_kubeconfig(files: Sequence[Path], context: str = "") -> Cluster:
    """Return the cluster of `context`, or of the current one, from the merged files."""
    read = [(file, _parse(file)) for file in files if len(files) == 1 or file.exists()]
    if not read:
        raise KubeConfigError(f"none of these exists: {', '.join(map(str, files))}")
    where = ", ".join(str(file) for file, _ in read)
    name = context or next((one.current_context for _, one in read if one.current_context), "")
    if not name:
        raise KubeConfigError(f"{where}: no current-context; name one with --context")
    clusters = {
        n.name: _Found(n.cluster, f) for f, one in reversed(read) for n in one.clusters or ()
    }
    users = {n.name: _Found(n.user, f) for f, one in reversed(read) for n in one.users or ()}
    contexts = {n.name: n.context for _, one in reversed(read) for n in one.contexts or ()}
    chosen = _need(contexts, name, "context", where)
    cluster = _need(clusters, chosen.cluster, "cluster", where)
    user = _need(users, chosen.user, "user", where) if chosen.user else None
    if not cluster.value.server:
        raise KubeConfigError(f"{cluster.file}: cluster {chosen.cluster} has no server")
    trust = _trust(cluster)
    return Cluster(
        server=cluster.value.server.rstrip("/"),
        credentials=_credentials(user, cluster.value, trust) if user else StoredSecrets(),
        trust=trust,
        namespace=chosen.namespace or "default",
        proxy=_proxy(cluster),
    )


def _parse(file: Path) -> _File:
    try:
        if file.stat().st_size > SIZE_MAX:
            raise KubeConfigError(
                f"{file}: too large for a kubeconfig (more than {SIZE_MAX >> 20} MiB)"
            )
        return msgspec.convert(_said(file) or {}, type=_File)
    except OSError as error:
        raise KubeConfigError(f"{file}: {error.strerror}") from error
    except msgspec.ValidationError as error:
        raise KubeConfigError(f"{file}: {error}") from error


def _said(file: Path) -> Any:
    """Return the content of a file; an error does not show the value, which may be a secret."""
    try:
        document = read_document(file.read_bytes(), str(file))
    except ManifestError as error:
        raise KubeConfigError(f"{file}:{error.line}: not YAML") from error
    try:
        return document.data()
    except ManifestError as error:
        what = "a value does not fit its tag, or a key appears twice"
        raise KubeConfigError(f"{file}:{error.line}: {what}") from error


def _need(entries: Mapping[str, T], name: str, kind: str, where: str) -> T:
    try:
        return entries[name]
    except KeyError as error:
        have = ", ".join(sorted(entries)) or "none"
        raise KubeConfigError(f"{where}: no {kind} named {name!r}; there is {have}") from error


def _trust(cluster: _Found[_Cluster]) -> Trust:
    value = cluster.value
    authority = cluster.secret(
        value.certificate_authority_data, value.certificate_authority, "certificate-authority-data"
    )
    return Trust(read_secret(authority), value.tls_server_name, value.insecure_skip_tls_verify)


def _proxy(cluster: _Found[_Cluster]) -> str:
    proxy = cluster.value.proxy_url
    if proxy and not proxy.startswith(("http://", "https://")):
        raise KubeConfigError(
            f"{cluster.file}: proxy-url {proxy}: only http and https proxies are supported"
        )
    return proxy


def _credentials(user: _Found[_User], cluster: _Cluster, trust: Trust) -> Credentials:
    value = user.value
    if value.auth_provider is not None:
        raise KubeConfigError(
            f"{user.file}: auth-provider was removed in Kubernetes 1.26; use exec"
        )
    if value.username:
        raise KubeConfigError(
            f"{user.file}: passwords were removed in Kubernetes 1.19; use a token"
        )
    if value.exec is not None:
        return ExecPlugin(_exec_command(user, value.exec, cluster, trust))
    token: Secret = value.token.encode()
    if not token and value.token_file:
        token = user.path(value.token_file)
    return StoredSecrets(
        token=token,
        certificate=user.secret(
            value.client_certificate_data, value.client_certificate, "client-certificate-data"
        ),
        key=user.secret(value.client_key_data, value.client_key, "client-key-data"),
    )


def _exec_command(
    user: _Found[_User], asked: _Exec, cluster: _Cluster, trust: Trust
) -> ExecCommand:
    if asked.api_version not in EXEC_VERSIONS:
        raise KubeConfigError(
            f"{user.file}: exec apiVersion {asked.api_version or '(none)'}: only"
            f" {' and '.join(EXEC_VERSIONS)} work"
        )
    if asked.interactive_mode == "Always":
        raise KubeConfigError(
            f"{user.file}: exec {asked.command} needs a terminal, and there is none"
        )
    cluster_info: dict[str, object] = {
        "server": cluster.server,
        "certificate-authority-data": base64.b64encode(trust.authority).decode(),
        "insecure-skip-tls-verify": trust.insecure,
        "tls-server-name": trust.server_name,
        "proxy-url": cluster.proxy_url,
    }
    return ExecCommand(
        api_version=asked.api_version,
        command=str(user.path(asked.command)) if "/" in asked.command else asked.command,
        arguments=asked.args or (),
        environment={variable.name: variable.value for variable in asked.env or ()},
        install_hint=asked.install_hint,
        cluster={k: v for k, v in cluster_info.items() if v}
        if asked.provide_cluster_info
        else None,
    )
