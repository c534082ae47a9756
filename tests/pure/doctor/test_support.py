"""No secret gets into the archive for a maintainer, wherever it was."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.doctor.finding import Finding, Outcome, Result
from netclaim.doctor.support.archive import write_archive
from netclaim.doctor.support.clean import REMOVED, clean, clean_text
from netclaim.doctor.support.collect import collect
from netclaim.errors import HostError, RequestError
from netclaim.framework.journal.journal import open_journal
from netclaim.framework.journal.records import Booking
from tests.pure.doctor.test_node import node_site
from tests.support.doctor_site import DRA, SPACE, cluster_with, good_node
from tests.support.explain_objects import DRIVER, claim, device_class
from tests.support.framework.parts import BOOT, booking_of, claim_of

CANARY = "c4n4ry-s3cr3t"
JWT = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (
    b'{"alg":"RS256","kid":"x"}', b'{"sub":"c4n4ry"}', b"c4n4ry"))  # fmt: skip
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
RESULTS = [
    Result(
        "cluster", "x", "X", "why", Finding(Outcome.ERROR, f"refused: token={CANARY}", "do"), 0.1
    )
]


def secret_parameters() -> dict[str, Any]:
    """Parameters of a network that has secrets where networks may have some."""
    plugin = {"type": "macsec", "key": CANARY, "psk": CANARY, "nested": {"sakKey": CANARY}}
    return {"config": {"name": "n", "plugins": [plugin]}, "token": CANARY}


def secret_claim() -> dict[str, Any]:
    """A claim with secrets in its parameters and its annotations."""
    made = claim("nic")
    made["metadata"] |= {
        "namespace": "default",
        "annotations": {
            "example.com/note": CANARY,
            LAST_APPLIED: json.dumps({"data": CANARY}),
            "resource.kubernetes.io/pod-claim-name": "kept",
        },
        "managedFields": [{"manager": CANARY}],
    }
    as_text = {"config": json.dumps(secret_parameters()["config"])}
    made["spec"]["devices"]["config"] = [
        {"opaque": {"driver": DRIVER, "parameters": parameters}}
        for parameters in (secret_parameters(), as_text)
    ]
    return made


def secret_pod() -> dict[str, Any]:
    """A pod of the driver with secrets where pods may have some."""
    container = {
        "name": "driver",
        "args": [
            "driver",
            f"--token={CANARY}",
            "--password",
            CANARY,
            f"--url=https://u:{CANARY}@x",
        ],
        "command": ["sh", "-c", f"PASSWORD={CANARY} exec netclaim"],
        "env": [{"name": "HARMLESS", "value": CANARY}],
    }
    return {
        "metadata": {"name": "netclaim-x", "namespace": SPACE},
        "spec": {"containers": [container], "nodeName": "one"},
        "status": {"containerStatuses": [{"name": "driver", "restartCount": 1}]},
    }


LOG = "\n".join(
    [
        json.dumps({"event": "kube.failed", "error": f"Authorization: Bearer {CANARY}"}),
        json.dumps({"event": "x", "config": json.dumps({"password": CANARY})}),
        f"event=x token={CANARY} kept=this",
        f"GET https://admin:{CANARY}@registry.example.com/v2",
        f"the token was {JWT}",
        KEY,
    ]
)


def secret_cluster() -> dict[str, Any]:
    """What a cluster full of secrets serves."""
    classes = device_class()
    classes["spec"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": secret_parameters()}}]
    one = good_node("one")
    one["metadata"]["annotations"] = {"cluster.example.com/join-token": CANARY}
    one["metadata"]["labels"] = {"kept": "label"}
    pods = f"/api/v1/namespaces/{SPACE}/pods"
    daemon_set = {
        "metadata": {"name": "netclaim", "namespace": SPACE, "annotations": {LAST_APPLIED: CANARY}},
        "spec": {"template": {"spec": secret_pod()["spec"]}},
        "status": {"desiredNumberScheduled": 1, "numberReady": 0},
    }
    event = {"metadata": {"name": "e"}, "note": f"login failed: password: {CANARY}"}
    return {
        "/api/v1/nodes": [one],
        f"{DRA}/resourceclaims": [secret_claim()],
        f"{DRA}/deviceclasses": [classes],
        "/apis/apps/v1/daemonsets": [daemon_set],
        pods: [secret_pod()],
        f"{pods}/netclaim-x/log": LOG,
        "/apis/events.k8s.io/v1/events": [event],
    }


def leaks(files: Mapping[str, bytes]) -> list[str]:
    """The files that have a secret in them."""
    canaries = (CANARY.encode(), JWT.encode(), JWT.split(".")[1].encode())
    return [name for name, content in files.items() if any(each in content for each in canaries)]


async def test_cluster_without_its_secrets() -> None:
    """Of a cluster, everything that helps is in the archive, and no secret."""
    async with cluster_with(secret_cluster()) as sight:
        files = await collect(sight, None, [f"the cluster at https://u:{CANARY}@x"], RESULTS)
    assert leaks(files) == []
    claims = json.loads(files["cluster/claims.json"])
    assert claims[0]["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] == "kept"
    plugin = claims[0]["spec"]["devices"]["config"][0]["opaque"]["parameters"]["config"]["plugins"][
        0
    ]
    assert plugin["type"] == "macsec"
    assert json.loads(files["cluster/pods.json"])[0]["spec"]["containers"][0]["env"] == [
        {"name": "HARMLESS", "value": REMOVED}
    ]
    for name in ("netclaim-x-driver.log", "netclaim-x-driver-previous.log"):
        assert b"kept=this" in files[f"cluster/logs/{name}"]
    assert json.loads(files["cluster/nodes.json"])[0]["metadata"]["labels"] == {"kept": "label"}
    readme = files["README.txt"].decode()
    assert all(name in readme for name in files if name != "README.txt")


async def test_node_without_its_secrets() -> None:
    """Of a node, the runtime's and kubelet's settings are chosen, and the journal is cleaned."""
    async with node_site() as site:
        network = json.loads(site.conflist.read_text())
        network["plugins"][0] |= {"key": CANARY, "kubernetes": {"kubeconfig": CANARY}}
        site.conflist.write_text(json.dumps(network))
        registry = {"configs": {"r.example.com": {"auth": {"username": "u", "password": CANARY}}}}
        site.runtime.config = {"registry": registry, "cni": {"confDir": "/etc/cni/net.d"}}
        (site.root / "config.toml").write_text(
            f'[plugins."io.containerd.grpc.v1.cri".registry.auths.x]\npassword = "{CANARY}"\n'
            '[plugins."io.containerd.nri.v1.nri"]\nplugin_request_timeout = "3s"\n'
        )
        (site.root / "config.yaml").write_text(
            f"kind: KubeletConfiguration\nstaticPodURLHeader: {{Authorization: [{CANARY}]}}\n"
            "featureGates: {DynamicResourceAllocation: true}\n"
        )
        site.not_ready = f"cannot reach https://u:{CANARY}@x"
        async with open_journal(site.sight.journal, BOOT) as journal:
            await journal.put_booking(_secret_booking())
            files = await collect(None, site.sight, ["the node n"], RESULTS)
    assert leaks(files) == []
    assert json.loads(files["node/kubelet.json"]) == {
        "featureGates": {"DynamicResourceAllocation": True}
    }
    assert json.loads(files["node/cni/10-pods.conflist"])["plugins"][0]["type"] == "ptp"
    assert json.loads(files["node/journal.json"])["bookings"][0]["claim"]["name"] == "red"
    assert files["node/readyz.txt"].startswith(b"503\ncannot reach https://")
    assert b"netclaim_attachments" in files["node/metrics.txt"]


def _secret_booking() -> Booking:
    made = msgspec.to_builtins(booking_of(claim_of()))
    made["prepared"]["plans"][0]["network"] = secret_parameters()
    return msgspec.convert(made, Booking)


@given(st.text(alphabet="abcXYZ019+/=_-", min_size=8, max_size=40))
def test_values_of_sensitive_keys(value: str) -> None:
    """Whatever a sensitive key has for a value is removed, in objects and in text."""
    for key in ("password", "dbPassword", "API_TOKEN", "client-secret", "apiKey", "Authorization"):
        assert clean({key: value}) == {key: REMOVED}
        assert clean({"list": [{key: {"deep": value}}]}) == {"list": [{key: REMOVED}]}
        for line in (
            f"{key}={value} x",
            f"{key}: {value}",
            f'"{key}": "{value}"',
            f"--{key} {value}",
        ):
            assert value not in clean_text(line).replace(REMOVED, "").replace(key, "")


def test_what_stays() -> None:
    """What helps stays: keys of taints, names of service accounts, switches, selectors."""
    kept = {
        "taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
        "automountServiceAccountToken": True,
        "expression": 'device.attributes["x"].name == "eth1"',
        "message": "the device is in the pod as net1",
    }
    assert clean(kept) == kept
    text = "2026-11-17T03:00:00Z attach.done claim=default/nic pod=app took 0.2 s"
    assert clean_text(text) == text
    long = "a" * 1_000_000  # one word: no search may try it again from each of its letters
    assert clean_text(long) == long


def test_archive_over_nothing(tmp_path: Path) -> None:
    """An archive replaces nothing, also what came while it was made; a full disk leaves nothing."""
    path = tmp_path / "support.tgz"
    write_archive(path, {"a": b"1"}, force=False)
    with pytest.raises(RequestError, match="exists"):
        write_archive(path, {"a": b"2"}, force=False)
    write_archive(path, {"a": b"2"}, force=True)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(HostError, match="cannot write"):
        write_archive(tmp_path / "no" / "such.tgz", {"a": b"1"}, force=False)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("as_text", [False, True])
def test_parameters_may_be_nested_by_the_hundred(opening: str, as_text: bool) -> None:
    """They are left out, and with them whatever secret is down there; the rest is kept."""
    closing = "".join("]" if each == "[" else "}" for each in reversed(opening) if each in "[{")
    text = '{"deep":' + opening * 450 + f'"{CANARY}"' + closing * 450 + "}"
    config = text if as_text else msgspec.json.decode(text)
    cleaned = json.dumps(clean({"spec": {"parameters": {"config": config}}, "kept": "yes"}))
    assert CANARY not in cleaned
    assert '"kept": "yes"' in cleaned
