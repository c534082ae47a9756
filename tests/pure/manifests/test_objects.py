"""One reader for every command: what comes out of files, and where things stand in them."""

from textwrap import dedent

import pytest

from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import API_VERSIONS, kind_fault
from netclaim.manifests.objects import Index, Object, ObjectKey
from netclaim.manifests.reading import read_objects
from netclaim.manifests.text.files import parse_file

SLICE = dedent(
    """\
    apiVersion: resource.k8s.io/v1alpha3
    kind: ResourceSlice
    metadata: {name: s}
    spec:
      driver: d
      devices:
      - name: eth0
        basic:
          attributes:
            name: {string: eth0}
          capacity:
            bandwidth: 1G
    """
)
CLAIM = dedent(
    """\
    apiVersion: resource.k8s.io/v1beta1
    kind: ResourceClaim
    metadata: {name: c}
    spec:
      devices:
        requests:
        - name: nic
          deviceClassName: fast
    """
)


def read(*texts: str) -> tuple[tuple[Object, ...], tuple[Finding, ...]]:
    """Read files x0, x1, and so on."""
    return read_objects(parse_file(text.encode(), f"x{n}") for n, text in enumerate(texts))


def test_a_path_of_v1_leads_to_the_line_of_an_older_file() -> None:
    """A field is found under `basic`, or without `exactly`, where its own version has it."""
    (one, claim), faults = read(SLICE, CLAIM)
    assert faults == ()
    assert one.object["spec"]["devices"][0]["capacity"]["bandwidth"] == {"value": "1G"}
    assert one.where(("spec", "devices", 0, "attributes", "name", "string")) == "x0:10"
    found = one.error(("spec", "devices", 0, "capacity", "bandwidth"), "m")
    assert str(found) == "x0:12: error: spec.devices[0].basic.capacity.bandwidth: m"
    wanted = claim.warning(("spec", "devices", "requests", 0, "exactly", "deviceClassName"), "m")
    assert str(wanted) == "x1:8: warning: spec.devices.requests[0].deviceClassName: m"
    assert str(found.as_error()) == "x0:12: spec.devices[0].basic.capacity.bandwidth: m"


def test_an_object_of_a_cluster_goes_by_its_name() -> None:
    """An object without a file has no line, and is called by kind, namespace and name."""
    found = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}
    pod = Object(found, found)
    assert pod.key == ObjectKey("Pod", "n", "p")
    assert pod.where(("spec",)) == "Pod n/p"
    assert str(pod.error(("spec",), "m")) == "Pod n/p: error: spec: m"
    node = Object({}, {"kind": "Node", "metadata": {"name": "one"}})
    assert node.where() == "Node one"


def test_a_namespace_is_given_to_what_has_none() -> None:
    """Only an object that names no namespace, of a kind that has one, is put into one."""
    (claim,), _ = read(CLAIM)
    assert claim.namespace == "default"
    assert claim.in_namespace("team").namespace == "team"
    assert claim.in_namespace("team").in_namespace("other").namespace == "team"
    (one,), _ = read(SLICE)
    assert one.in_namespace("team") is one


def test_of_two_objects_the_one_in_the_same_file_is_meant() -> None:
    """A name leads to the object beside its user; a second of a name is known as such."""
    (first, second), _ = read(CLAIM, CLAIM)
    index = Index((first, second))
    assert index.find("ResourceClaim", "c", near=second) is second
    assert index.find("ResourceClaim", "d", near=second) is None
    assert index.names("ResourceClaim", "default") == ["c"]
    assert list(index.repeated()) == [(second, first)]


def test_what_is_gone_is_an_object_without_content() -> None:
    """A kind that nothing takes the place of keeps its line and what is to be said of it."""
    (gone,), faults = read("apiVersion: resource.k8s.io/v1alpha2\nkind: PodSchedulingContext\n")
    assert (gone.object, gone.kind, faults) == ({}, "PodSchedulingContext", ())
    assert "without it" in gone.remarks[0].text


def test_a_path_of_v1_leads_to_the_line_of_a_version_that_is_gone() -> None:
    """What a dead version had in other words is found there: its driver, its class."""
    head = "apiVersion: resource.k8s.io/v1alpha2\nkind: {}\nmetadata: {{name: x}}\n"
    claim = head.format("ResourceClaim") + "spec:\n  resourceClassName: C\n"
    (one, wanted), _ = read(head.format("ResourceClass") + "driverName: D\n", claim)
    assert one.where(("spec", "selectors", 0, "cel", "expression")) == "x0:4"
    path = ("spec", "devices", "requests", 0, "exactly", "deviceClassName")
    assert str(wanted.error(path, "m")) == "x1:5: error: spec.resourceClassName: m"


def test_all_faults_are_found_at_once() -> None:
    """One object's fault hides no other; a file that is no manifest hides no other such file."""
    objects, faults = read("a: 1\n---\napiVersion: v1\nkind: Pod\n", CLAIM.replace("v1beta1", "v7"))
    assert [one.kind for one in objects] == ["Pod"]
    assert [fault.where for fault in faults] == ["x0:1", "x1:1"]
    with pytest.raises(ExceptionGroup) as caught:
        read("words\n---\nmore words\n", "[]")
    assert [str(one).split(": ")[0] for one in caught.value.exceptions] == ["x0:1", "x0:3", "x1:1"]


@pytest.mark.parametrize(
    ("api_version", "kind", "said"),
    [
        ("apps/v1", "Pod", "apiVersion: there is no Pod in apps/v1; write v1"),
        ("core/v1", "Pod", "apiVersion: there is no Pod in core/v1; write v1"),
        ("V1", "Pod", "apiVersion: there is no Pod in V1; write v1"),
        ("v1", "Deployment", "apiVersion: there is no Deployment in v1; write apps/v1"),
        (
            "extensions/v1beta1",
            "Deployment",
            "apiVersion: there is no Deployment in extensions/v1beta1; write apps/v1",
        ),
        (
            "resources.k8s.io/v1",
            "ResourceClaim",
            "apiVersion: there is no ResourceClaim in resources.k8s.io/v1; write resource.k8s.io/",
        ),
        (
            "resource.k8s.oi/v1",
            "ResourceClaim",
            "apiVersion: there is no ResourceClaim in resource.k8s.oi/v1; write resource.k8s.io/v1",
        ),
        ("v1", "pod", 'kind: v1 has no kind "pod"; did you mean "Pod"?'),
        ("v1", "Pods", 'kind: v1 has no kind "Pods"; did you mean "Pod"?'),
        ("apps/v1", "StatefullSet", 'kind: apps/v1 has no kind "StatefullSet"; did you mean'),
        ("batch/v1", "Toaster", 'kind: batch/v1 has no kind "Toaster"; it has CronJob, Job'),
        ("resource.k8s.io/v1", "resourceclaim", "kind: resource.k8s.io has no kind"),
    ],
)
def test_a_kind_that_kubernetes_does_not_have_there(api_version: str, kind: str, said: str) -> None:
    """A kind in the wrong group, or misspelt, is an error that says what to write."""
    objects, (fault,) = read(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x}}\n")
    assert objects == ()
    assert f"{fault.path}: {fault.message}".startswith(said)
    assert fault.line == (1 if fault.path == "apiVersion" else 2)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        *((version, kind) for kind, version in API_VERSIONS.items()),
        ("v1", "PodList"),
        ("serving.knative.dev/v1", "Service"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("apps.kruise.io/v1beta1", "StatefulSet"),
        ("example.com/v1", "DeviceClass"),
        ("events.k8s.io/v1", "Event"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("policy/v1", "PodDisruptionBudget"),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule"),
    ],
)
def test_kinds_that_may_be_there(api_version: str, kind: str) -> None:
    """Nothing is said of what Kubernetes has, nor of what somebody else may have."""
    assert kind_fault(api_version, kind) is None
