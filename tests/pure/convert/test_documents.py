"""The text of converted files: what stays as it was, and where new objects go."""

import json
from textwrap import dedent
from typing import Any

import pytest

from tests.pure.convert.converting import convert, converted_file, said

NETWORK = dedent(
    """\
    # The network.
    apiVersion: "k8s.cni.cncf.io/v1"
    kind: NetworkAttachmentDefinition
    metadata:
      name: media   # pods name it
    spec:
      # as the rack has it
      config: '{
          "type": "macvlan",
          "master": "eth1"
        }'
    """
)
POD = dedent(
    """\
    apiVersion: v1
    kind: Pod
    metadata:
      name: app  # ours
      annotations:
        team: a  # theirs
        k8s.v1.cni.cncf.io/networks: media
    spec:
      containers: [{name:   app, image: alpine}]
      resourceClaims:
      - name: gpu  # as before
        resourceClaimTemplateName: gpu
    """
)
OTHER = "# kept\napiVersion: v1\nkind: ConfigMap\nmetadata: {name:   odd}\n"
CONVERTED_NETWORK = dedent(
    """\
    # The network.
    apiVersion: cni.networking.x-k8s.io/v1alpha1
    kind: PodNetwork
    metadata:
      name: media   # pods name it
    spec:
      # as the rack has it
      type: macvlan
      parent:
        name: eth1
      ifName: net1
      namespaces:
        matchLabels:
          kubernetes.io/metadata.name: default
    """
)
CONVERTED_POD = dedent(
    """\
    apiVersion: v1
    kind: Pod
    metadata:
      name: app  # ours
      annotations:
        team: a  # theirs
    spec:
      containers: [{name:   app, image: alpine}]
      resourceClaims:
      - name: gpu  # as before
        resourceClaimTemplateName: gpu
      - name: media
        resourceClaimTemplateName: media
    """
)


def test_comments_and_order_stay() -> None:
    """Converted documents keep their comments, and others stay byte for byte."""
    text = f"{OTHER}---\n{POD}---\n# nothing\n---\n{NETWORK}"
    assert converted_file(text) == (
        f"{OTHER}---\n{CONVERTED_POD}---\n# nothing\n---\n{CONVERTED_NETWORK}"
    )


def test_again() -> None:
    """What was converted is not changed by another conversion."""
    text = f"{CONVERTED_NETWORK}---\n{CONVERTED_POD}"
    assert converted_file(text) == text
    assert not said(convert(text))


@pytest.mark.parametrize("marker", ["", "---\n", "# license\n", "# license\n---\n"])
def test_a_template_is_a_document_of_its_own(marker: str) -> None:
    """A new object stands in front of the first document, whatever that begins with."""
    pod = POD.replace("networks: media", "networks: media@video0,media@video1")
    text = converted_file(f"{marker}{pod}---\n{NETWORK}")
    kinds = [line for line in text.splitlines() if line.startswith("kind: ")]
    assert kinds == ["kind: ResourceClaimTemplate", "kind: Pod", "kind: PodNetwork"]
    assert text.count("\n---\n") == 2


def test_windows_line_ends_stay() -> None:
    """A file with carriage returns keeps them in what is converted."""
    text = converted_file(NETWORK.replace("\n", "\r\n"))
    assert text.replace("\r\n", "\n") == CONVERTED_NETWORK
    assert "\n" not in text.replace("\r\n", "")


def _objects(annotation: str) -> list[dict[str, Any]]:
    network = {"config": '{"type": "macvlan", "master": "eth1"}'}
    meta = {"name": "app", "annotations": {"k8s.v1.cni.cncf.io/networks": annotation}}
    return [
        {
            "apiVersion": "k8s.cni.cncf.io/v1",
            "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": "media"},
            "spec": network,
        },
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": []}},
    ]


def test_a_list_stays_a_list() -> None:
    """Items of a List are converted in it, with new ones in front of those that need them."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": _objects("media,media")})
    found = json.loads(converted_file(text))
    kinds = [one["kind"] for one in found["items"]]
    assert kinds == ["PodNetwork", "ResourceClaimTemplate", "Pod"]


def test_a_stream_of_json_stays_one() -> None:
    """A file of JSON objects has new ones among them, without separators."""
    text = "".join(json.dumps(one) + "\n" for one in _objects("media,media"))
    decoder, kinds, rest = json.JSONDecoder(), [], converted_file(text)
    while rest:
        one, end = decoder.raw_decode(rest)
        kinds.append(one["kind"])
        rest = rest[end:].lstrip()
    assert kinds == ["PodNetwork", "ResourceClaimTemplate", "Pod"]


def test_what_a_server_wrote_is_left_out() -> None:
    """The output of kubectl get can be converted and applied: no status, node or version."""
    network, app = _objects("media")
    for one in (network, app):
        one["metadata"] |= {"uid": "7", "resourceVersion": "9", "creationTimestamp": "now"}
    app["metadata"]["annotations"] |= {
        "k8s.v1.cni.cncf.io/network-status": "[]",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    app["spec"]["nodeName"] = "rack-1"
    app["status"] = {"phase": "Running"}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [network, app]})
    network, app = json.loads(converted_file(text))["items"]
    assert network["metadata"] == {"name": "media"}
    assert app == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "app"},
        "spec": {
            "containers": [],
            "resourceClaims": [{"name": "media", "resourceClaimTemplateName": "media"}],
        },
    }
