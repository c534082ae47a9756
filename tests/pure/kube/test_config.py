"""Finding the cluster: pods' service accounts, kubeconfigs, and TLS as they describe it."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from netclaim.kube import (
    Cluster,
    Identity,
    KubeConfigError,
    StoredSecrets,
    Trust,
    UnreachableError,
    connect,
    in_cluster,
    load_cluster,
)
from netclaim.kube.access.exec_plugin import ExecPlugin
from tests.support.kube.certs import Authority
from tests.support.kube.stub import Reply, serve_stub


def kubeconfig(
    path: Path,
    *,
    user: Any = None,
    cluster: Any = None,
    name: str = "lab",
    current: str | None = None,
) -> Path:
    """Write a kubeconfig of one context."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name if current is None else current,
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name, "namespace": "blue"}}
        ],
        "clusters": [{"name": name, "cluster": cluster or {"server": f"https://{name}:6443/"}}],
        "users": [{"name": name, "user": user or {"token": f"{name}-token"}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return path


def account(folder: Path) -> Path:
    """Write a pod's service account."""
    folder.mkdir()
    for name in ("token", "ca.crt", "namespace"):
        (folder / name).write_text(f"the {name}\n")
    return folder


CONTEXT = "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


async def test_in_a_pod(tmp_path: Path) -> None:
    """A pod's account gives the server, the authority, the namespace and the token."""
    cluster = load_cluster(environ=IN_POD, account=account(tmp_path / "account"))
    assert cluster.server == "https://10.96.0.1:443"
    assert cluster.namespace == "the namespace"
    assert cluster.trust.authority == b"the ca.crt\n"
    assert (await cluster.credentials.identity()).token == "the token"


def test_in_a_pod_with_ipv6(tmp_path: Path) -> None:
    """An IPv6 service address is bracketed in the URL."""
    environ = {**IN_POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    cluster = in_cluster(environ=environ, account=account(tmp_path / "account"))
    assert cluster.server == "https://[fd00::1]:443"


def test_what_a_pod_lacks_is_named(tmp_path: Path) -> None:
    """A missing variable or a missing file of the account is named."""
    with pytest.raises(KubeConfigError, match="KUBERNETES_SERVICE_PORT is not set"):
        in_cluster(environ={"KUBERNETES_SERVICE_HOST": "x"}, account=tmp_path)
    with pytest.raises(
        KubeConfigError, match=r"ca.crt: No such file.*automountServiceAccountToken"
    ):
        in_cluster(environ=IN_POD, account=tmp_path)


def test_the_order_of_places(tmp_path: Path) -> None:
    """The named file wins over $KUBECONFIG, that over the pod's account, that over the home's."""
    named = kubeconfig(tmp_path / "named", name="named")
    env = kubeconfig(tmp_path / "env", name="env")
    kubeconfig(tmp_path / ".kube" / "config", name="home")
    pod = account(tmp_path / "account")
    environ = {"HOME": str(tmp_path)}
    assert load_cluster(environ=environ, account=pod).server == "https://home:6443"
    environ |= IN_POD
    assert load_cluster(environ=environ, account=pod).server == "https://10.96.0.1:443"
    environ["KUBECONFIG"] = str(env)
    assert load_cluster(environ=environ, account=pod).server == "https://env:6443"
    assert load_cluster(str(named), environ=environ, account=pod).server == "https://named:6443"


def test_nothing_found(tmp_path: Path) -> None:
    """Without any place, one line says where was looked and what to do."""
    with pytest.raises(KubeConfigError, match=r"no cluster is configured.*--kubeconfig"):
        load_cluster(environ={"HOME": str(tmp_path)})


async def test_several_files_merge(tmp_path: Path) -> None:
    """Of several files the first to name a thing wins, and files that do not exist are skipped."""
    first = kubeconfig(tmp_path / "a" / "one", name="one")
    kubeconfig(tmp_path / "b" / "two", name="two", user={"tokenFile": "token"})
    (tmp_path / "b" / "token").write_text("from the file beside")
    doubled = kubeconfig(tmp_path / "c", name="one", cluster={"server": "https://never"})
    paths = [first, tmp_path / "missing", tmp_path / "b" / "two", doubled]
    environ = {"KUBECONFIG": ":".join(map(str, paths))}
    assert load_cluster(environ=environ).server == "https://one:6443"
    two = load_cluster(context="two", environ=environ)
    assert two.server == "https://two:6443"
    assert two.namespace == "blue"
    assert (await two.credentials.identity()).token == "from the file beside"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("clusters: [", r":2: not YAML$"),
        ("a: 1\nb: ]", r":2: not YAML$"),
        ("a: 1\nb: !!int secret", r":2: a value does not fit its tag, or a key appears twice$"),
        ("a: 1\nb: !!timestamp secret", r":2: a value does not fit its tag"),
        ("a: !unheard-of secret", r":1: a value does not fit its tag"),
        ("a: !!python/object:os.system x", r":1: a value does not fit its tag"),
        ("a: &a [*a]", r":1: not YAML$"),
        ("a: 1\n---\nb: 2", r":2: not YAML$"),
        ("clusters: !!set {a, b}", r"\$.clusters"),
        ("1: 2", "Expected `str`"),
        ("[1, 2]", "Expected `object`"),
        ("clusters: 5", r"\$.clusters"),
        ("", "no current-context; name one with --context"),
        ("current-context: x", r"no context named 'x'; there is none"),
        (
            f"{CONTEXT}clusters: [{{name: d, cluster: {{}}}}]",
            r"no cluster named 'c'; there is d",
        ),
        (
            f"{CONTEXT}clusters: [{{name: c, cluster: {{}}}}]",
            "cluster c has no server",
        ),
    ],
)
def test_broken_kubeconfigs(tmp_path: Path, content: str, complaint: str) -> None:
    """What is wrong or missing in a kubeconfig is said in one line that begins with the file."""
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(KubeConfigError, match=complaint) as caught:
        load_cluster(str(path))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    """A named file, and a whole list of files, that do not exist are errors."""
    with pytest.raises(KubeConfigError, match=r"nope: No such file"):
        load_cluster(str(tmp_path / "nope"))
    with pytest.raises(KubeConfigError, match=r"none of these exists: /a, /b"):
        load_cluster(environ={"KUBECONFIG": "/a:/b"})


@pytest.mark.parametrize(
    ("user", "complaint"),
    [
        ({"auth-provider": {"name": "gcp"}}, "auth-provider was removed in Kubernetes 1.26"),
        ({"username": "me", "password": "x"}, "passwords were removed in Kubernetes 1.19"),
        ({"client-certificate-data": "%"}, "client-certificate-data is not base64"),
        ({"exec": {"command": "x"}}, r"exec apiVersion \(none\)"),
        ({"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "only"),
        (
            {
                "exec": {
                    "command": "x",
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "interactiveMode": "Always",
                }
            },
            "needs a terminal",
        ),
    ],
)
def test_users_that_cannot_work(tmp_path: Path, user: Any, complaint: str) -> None:
    """A way to authenticate that is gone, broken or needs a person is refused by name."""
    with pytest.raises(KubeConfigError, match=complaint):
        load_cluster(str(kubeconfig(tmp_path / "config", user=user)))


def test_a_proxy_must_be_http(tmp_path: Path) -> None:
    """A SOCKS proxy is refused by name; an HTTP proxy is kept."""
    path = tmp_path / "config"
    kubeconfig(path, cluster={"server": "https://x", "proxy-url": "socks5://p"})
    with pytest.raises(KubeConfigError, match="only http and https proxies"):
        load_cluster(str(path))
    kubeconfig(path, cluster={"server": "https://x", "proxy-url": "http://p:3128"})
    assert load_cluster(str(path)).proxy == "http://p:3128"


async def test_an_exec_user(tmp_path: Path) -> None:
    """A plugin named by a relative path is the one beside the kubeconfig, with its variables."""
    plugin = tmp_path / "plugin"
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": "$TOKEN-$1"},
    }
    plugin.write_text(f"#!/bin/sh\ncat <<END\n{json.dumps(credential)}\nEND\n")
    plugin.chmod(0o755)
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "command": "./plugin",
            "args": ["arg"],
            "env": [{"name": "TOKEN", "value": "tok"}],
        }
    }
    cluster = load_cluster(str(kubeconfig(tmp_path / "config", user=user)))
    assert isinstance(cluster.credentials, ExecPlugin)
    assert (await cluster.credentials.identity()).token == "tok-arg"


def encoded(content: bytes) -> str:
    """Return bytes as a kubeconfig embeds them."""
    return base64.b64encode(content).decode()


@pytest.mark.parametrize("embedded", [True, False], ids=["as data", "as files"])
async def test_a_client_certificate(tmp_path: Path, embedded: bool) -> None:
    """A certificate and key from the kubeconfig are what the server sees; its own is checked."""
    authority = Authority()
    pair = authority.issue("alice")
    for name, content in (
        ("ca.pem", authority.certificate),
        ("alice.pem", pair.certificate),
        ("alice.key", pair.key),
    ):
        (tmp_path / name).write_bytes(content)
    user = (
        {
            "client-certificate-data": encoded(pair.certificate),
            "client-key-data": encoded(pair.key),
        }
        if embedded
        else {"client-certificate": "alice.pem", "client-key": "alice.key"}
    )
    trust = (
        {"certificate-authority-data": encoded(authority.certificate)}
        if embedded
        else {"certificate-authority": "ca.pem"}
    )
    async with serve_stub(authority.server_context(tmp_path, "127.0.0.1")) as stub:
        stub.on("GET", "/x", Reply({"ok": True}))
        cluster = {"server": stub.url, **trust}
        path = kubeconfig(tmp_path / "config", user=user, cluster=cluster)
        async with connect(load_cluster(str(path))) as client:
            assert await client.get_path("/x") == {"ok": True}
    assert stub.seen[0].peer["subject"] == ((("commonName", "alice"),),)


async def test_a_certificate_that_rotates(tmp_path: Path) -> None:
    """A renewed certificate file means a new connection, on which the server sees the new one."""
    authority = Authority()
    credentials = StoredSecrets(certificate=tmp_path / "cert", key=tmp_path / "key")
    async with serve_stub(authority.server_context(tmp_path, "127.0.0.1")) as stub:
        stub.on("GET", "/x", Reply(), Reply())
        cluster = Cluster(stub.url, credentials, Trust(authority=authority.certificate))
        async with connect(cluster) as client:
            for name in ("alice", "bob"):
                pair = authority.issue(name)
                (tmp_path / "cert").write_bytes(pair.certificate)
                (tmp_path / "key").write_bytes(pair.key)
                await credentials.renew()
                await client.get_path("/x")
    names = [seen.peer["subject"][0][0][1] for seen in stub.seen]
    assert names == ["alice", "bob"]


async def test_a_server_of_another_name(tmp_path: Path) -> None:
    """A server's certificate must be for the host, or for tls-server-name, or be waved through."""
    authority = Authority()
    data = encoded(authority.certificate)
    async with serve_stub(authority.server_context(tmp_path, "kubernetes.default")) as stub:
        stub.on("GET", "/x", Reply(), Reply())
        trusting = {"server": stub.url, "certificate-authority-data": data}
        named = {**trusting, "tls-server-name": "kubernetes.default"}
        insecure = {"server": stub.url, "insecure-skip-tls-verify": True}
        for setting, welcome in ((trusting, False), (named, True), (insecure, True)):
            path = kubeconfig(tmp_path / "config", cluster=setting)
            async with connect(load_cluster(str(path))) as client:
                if welcome:
                    await client.get_path("/x")
                else:
                    with pytest.raises(UnreachableError, match="certificate"):
                        await client.get_path("/x")
    assert len(stub.seen) == 2


async def test_a_stranger_of_a_server(tmp_path: Path) -> None:
    """A server signed by an authority we do not know is not talked to."""
    async with serve_stub(Authority().server_context(tmp_path, "127.0.0.1")) as stub:
        other = encoded(Authority().certificate)
        setting = {"server": stub.url, "certificate-authority-data": other}
        path = kubeconfig(tmp_path / "config", cluster=setting)
        async with connect(load_cluster(str(path))) as client:
            with pytest.raises(UnreachableError, match=r"its certificate is not valid: [\w ]+$"):
                await client.get_path("/x")
    assert stub.seen == []


async def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    """Bytes that are no certificate are the kubeconfig's fault, not the server's."""
    user = {"client-certificate-data": encoded(b"x"), "client-key-data": encoded(b"y")}
    path = kubeconfig(tmp_path / "config", user=user)
    cluster = load_cluster(str(path))
    assert await cluster.credentials.identity() == Identity(certificate=b"x", key=b"y")
    async with connect(cluster) as client:
        with pytest.raises(KubeConfigError, match="certificate or key cannot be used"):
            await client.get_path("/x")
