"""Services that name a network are judged as the controller judges them."""

import pytest

from tests.pure.check.test_check import lines

NETWORK = """\
apiVersion: cni.networking.x-k8s.io/v1alpha1
kind: PodNetwork
metadata: {name: media-net}
spec: {type: macvlan, parent: {name: eth1}}
"""
RIGHT = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    cni.networking.x-k8s.io/network: media-net
    cni.networking.x-k8s.io/selector: app=web
spec:
  clusterIP: None
  ports: [{port: 80, targetPort: http}]
"""
UPSTREAM = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {multinetwork.networking.k8s.io/spec.podnetwork.name: media-net}
spec:
  clusterIP: None
  selector: {app: web, multinetwork.networking.k8s.io/dummy: "true"}
"""
SELECTOR = "    cni.networking.x-k8s.io/selector: app=web\n"


def test_right_ones_pass() -> None:
    """With our annotations, or with the labels of the upstream proof of concept."""
    assert lines(NETWORK, RIGHT) == lines(NETWORK, UPSTREAM) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("media-net", "media-nett", 'no PodNetwork "media-nett" in these files; did you mean'),
        ("media-net", '""', "names no network"),
        (SELECTOR, "", "selects no pods; write the annotation"),
        ("app=web", "app in web", "unable to parse requirement"),
        ("app=web", "a" * 1025, "is longer than 1024 characters"),
        ("  clusterIP: None\n", "", "not reachable by a ClusterIP"),
        (
            "spec:\n",
            "spec:\n  selector: {app: web}\n",
            "Kubernetes would publish the pods' primary",
        ),
        ("clusterIP: None", "type: ExternalName", "an ExternalName has no endpoints"),
        ("clusterIP: None", "cluster_ip: None", 'unknown field "cluster_ip"'),
    ],
)
def test_mistakes_are_named(old: str, new: str, said: str) -> None:
    """Each says what to write, or what will not work."""
    assert any(said in each for each in lines(NETWORK, RIGHT.replace(old, new)))


def test_labels_and_annotation_agree() -> None:
    """Two networks for one Service are none; a PodNetwork has no namespace."""
    label = "  labels: {{multinetwork.networking.k8s.io/spec.podnetwork.{}: {}}}\n  annotations:"
    other = RIGHT.replace("  annotations:", label.format("name", "other-net"))
    assert any("names another network than" in each for each in lines(NETWORK, other))
    placed = UPSTREAM.replace("labels: {", "labels: {multinetwork.networking.k8s.io/X: a, ")
    placed = placed.replace("k8s.io/X", "k8s.io/spec.podnetwork.namespace")
    assert any("a PodNetwork has no namespace" in each for each in lines(NETWORK, placed))


def test_other_services_are_not_judged() -> None:
    """They have nothing to do with networks."""
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {a: b}}\n"
    assert lines(text) == []
