"""Manifests are read and judged before anything starts; every fault has its file and line."""

import io
from pathlib import Path

import pytest

from netclaim.errors import RequestError
from netclaim.local.demo import DEMO, ONE_LINE
from netclaim.local.input.driver_names import driver_names, unserved
from netclaim.local.input.manifests import Manifests, read_manifests

EXAMPLES = Path(__file__).parents[3] / "examples" / "manifests"
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  containers:
  - name: c
    image: i
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata:
  name: x
spec:
  devices:
    requests:
    - name: a
      deviceClassName: c
"""


def read(tmp_path: Path, text: str) -> Manifests:
    """Read one file."""
    file = tmp_path / "m.yaml"
    file.write_text(text)
    return read_manifests([str(file)])


def faults(tmp_path: Path, text: str) -> list[str]:
    """The faults of one file, without its directory."""
    with pytest.raises((RequestError, ExceptionGroup)) as caught:
        read(tmp_path, text)
    error = caught.value
    found = error.exceptions if isinstance(error, ExceptionGroup) else [error]
    return [str(one).removeprefix(f"{tmp_path}/") for one in found]


@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=lambda file: file.name)
def test_seeds_are_read(file: Path) -> None:
    """Each of the seeds' manifests is accepted, whatever its version and dialect."""
    assert read_manifests([str(file)]).items


def test_demo_is_the_example() -> None:
    """The demo runs the very manifest that the examples have."""
    assert DEMO.read_bytes() == (EXAMPLES / "kubecon-demo.yaml").read_bytes()


def test_the_demos_network_is_the_short_way() -> None:
    """A PodNetwork and a pod that names it: the pod itself says one line of the network."""
    network, pod = (item.object for item in read_manifests([str(ONE_LINE)]).items)
    name = network["metadata"]["name"]
    assert pod["spec"]["resourceClaims"] == [{"name": "media", "resourceClaimTemplateName": name}]


def test_drivers_are_those_with_our_parameters() -> None:
    """A driver is run under each name that has interface parameters, else under its own."""
    poc = read_manifests([str(EXAMPLES / "poc-demo-a.yaml")])
    assert driver_names(poc.items) == ("poc.dra.networking",)
    demo = read_manifests([str(DEMO)])
    assert driver_names(demo.items) == ("cni.dra.networking.x-k8s.io",)


def test_other_drivers_are_not_played(tmp_path: Path) -> None:
    """Parameters that are not about an interface make no driver of ours."""
    config = "    config:\n    - opaque: {driver: gpu.example.com, parameters: {sharing: true}}\n"
    found = read(tmp_path, POD + "---\n" + CLAIM + config)
    assert driver_names(found.items) == ("cni.dra.networking.x-k8s.io",)


DRANET = """\
    config:
    - requests: [a]
      opaque:
        driver: dra.net
        parameters:
          interface: {name: dranet0}
"""


@pytest.mark.parametrize(
    ("parameters", "ours"),
    [
        ("interface: {name: dranet0}", False),  # dranet's
        ("interface: {name: dranet0}\n          config: {}", False),
        ("interface: eth7", False),  # somebody's: nothing says that it is CNI
        ("interface: net1\n          config: '{}'", True),
        ("ifName: net1\n          config: {}", True),  # a mistake, and ours to tell
        ("apiVersion: cni.networking.x-k8s.io/v1", True),  # likewise
        ("apiVersion: vf.example.com/v1\n          ifName: net1\n          config: {}", False),
    ],
)
def test_parameters_are_known_by_their_dialect(tmp_path: Path, parameters: str, ours: bool) -> None:
    """Parameters of others are theirs, even if a key of theirs is called as one of ours."""
    config = DRANET.replace("interface: {name: dranet0}", parameters)
    found = read(tmp_path, POD + "---\n" + CLAIM + config)
    own = "cni.dra.networking.x-k8s.io"
    assert driver_names(found.items) == (("dra.net",) if ours else (own,))


def test_drivers_that_are_not_run_are_named(tmp_path: Path) -> None:
    """Of a driver of others it is said, once and with its line, that nothing here serves it."""
    found = read(tmp_path, f"{POD}---\n{CLAIM}{DRANET}---\n{CLAIM.replace('x', 'y')}{DRANET}")
    (note,) = unserved(found.items, driver_names(found.items))
    assert note.removeprefix(f"{tmp_path}/").startswith("m.yaml:22: the driver dra.net is not run")
    assert list(unserved(found.items, ["dra.net"])) == []


OWN = "cni.dra.networking.x-k8s.io"


def addressing(name: str, selector: str = "") -> str:
    """A pod, and a claim with parameters of ours for a driver."""
    config = DRANET.replace("interface: {name: dranet0}", "ifName: net1\n          config: {}")
    expression = f"      selectors: [{{cel: {{expression: '{selector}'}}}}]\n" if selector else ""
    return f"{POD}---\n{CLAIM}{expression}{config.replace('dra.net', name)}"


@pytest.mark.parametrize(
    ("name", "selector", "run", "meant"),
    [
        ("cni.dra.neworking.x-k8s.io", "", OWN, OWN),
        ("cni.dra.networking.x-k8s.oi", f'device.driver == "{OWN}"', OWN, OWN),
        ("poc.dra.netwroking", 'device.driver == "poc.dra.networking"', "poc.dra.networking", ""),
        ("poc.dra.networking", "", "poc.dra.networking", None),
        (f"{OWN}2", f'device.driver == "{OWN}2"', f"{OWN}2", None),
    ],
)
def test_slip_in_a_drivers_name_is_no_other_driver(
    tmp_path: Path, name: str, selector: str, run: str, meant: str | None
) -> None:
    """A name that is nearly ours, or nearly the one that is selected, is reported as a slip."""
    found = read(tmp_path, addressing(name, selector))
    assert driver_names(found.items) == (run,)
    notes = list(unserved(found.items, driver_names(found.items)))
    if meant is None:
        assert notes == []
    else:
        (note,) = notes
        assert note.endswith(f': unknown driver "{name}"; did you mean "{meant or run}"?')


def test_resources_that_nothing_offers_are_noted(tmp_path: Path) -> None:
    """An extended resource without a class is left out; with one it is not."""
    pod = POD + "    resources: {limits: {example.com/nic: 1, cpu: 2}}\n"
    (note,) = read(tmp_path, pod).notes
    assert note.endswith(
        "m.yaml:5: resource example.com/nic ignored: no DeviceClass in the manifests offers it"
        " (extendedResourceName)"
    )
    offer = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\n"
    offer += "spec: {extendedResourceName: example.com/nic}\n"
    assert read(tmp_path, f"{pod}---\n{offer}").notes == ()


MULTUS = """
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: media-net}
spec:
  config: 'CONFIG'
---
apiVersion: v1
kind: Pod
metadata:
  name: camera
  annotations: {k8s.v1.cni.cncf.io/networks: media-net}
spec:
  containers: [{name: c, image: i}]
"""


def test_what_multus_reads_runs_as_claims(tmp_path: Path) -> None:
    """A network and its annotated pod are run as `netclaim convert` would write them."""
    config = '{"cniVersion": "1.0.0", "type": "macvlan", "master": "eth1"}'
    found = read(tmp_path, MULTUS.replace("CONFIG", config))
    network, pod = found.items
    assert (network.kind, network.name) == ("PodNetwork", "media-net")
    (entry,) = pod.object["spec"]["resourceClaims"]
    assert entry["resourceClaimTemplateName"] == "media-net"
    assert found.notes[0].startswith("1 network and 1 workload of Multus run as")


def test_network_of_multus_that_cannot_be_converted_is_left_out(tmp_path: Path) -> None:
    """The notes say why, and what to write instead."""
    config = '{"cniVersion": "1.0.0", "type": "ovn-k8s-cni-overlay"}'
    found = read(tmp_path, MULTUS.replace("CONFIG", config))
    (pod,) = found.items
    assert "resourceClaims" not in pod.object["spec"]
    notes = "\n".join(found.notes)
    assert "ovn-k8s-cni-overlay" in notes
    assert "NetworkAttachmentDefinition ignored: netclaim attaches networks by claim" in notes


def test_empty_documents_are_nothing(tmp_path: Path) -> None:
    """Documents of comments, or of nothing, as Helm prints them, are passed over."""
    assert len(read(tmp_path, f"---\n# Source: a\n---\n{POD}---\nnull\n---\n").items) == 1


def test_directory_is_read_in_order(tmp_path: Path) -> None:
    """Of a directory the YAML and JSON files count, by name."""
    (tmp_path / "b.yaml").write_text(POD.replace("name: p", "name: b"))
    (tmp_path / "a.yml").write_text(POD.replace("name: p", "name: a"))
    (tmp_path / "README.md").write_text("# hello")
    found = read_manifests([str(tmp_path)])
    assert [item.object["metadata"]["name"] for item in found.items] == ["a", "b"]


def test_standard_input_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash is standard input, and is called so."""
    text = io.TextIOWrapper(io.BytesIO(POD.replace("name: c", "name: C").encode()))
    monkeypatch.setattr("sys.stdin", text)
    with pytest.raises(RequestError, match=r"^stdin:7: spec\.containers\[0\]\.name: Invalid"):
        read_manifests(["-"])


def test_list_is_its_items(tmp_path: Path) -> None:
    """What `kubectl get -o yaml` prints is read without what the server wrote."""
    lines = ["  " + line for line in POD.splitlines()]
    lines[0] = "- " + lines[0].strip()
    meta = "    uid: 1234\n    resourceVersion: '7'\n    creationTimestamp: null\n"
    meta += "    ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u}]\n"
    body = "\n".join(lines).replace("    name: p\n", "    name: p\n" + meta, 1)
    found = read(tmp_path, f"apiVersion: v1\nkind: List\nitems:\n{body}\n  status: {{phase: X}}\n")
    (item,) = found.items
    assert item.object["metadata"] == {"name": "p"}
    assert "status" not in item.object


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [\n", ["m.yaml:2: not YAML"]),
        ("hello\n", ["m.yaml:1: not a manifest"]),
        ("kind: Pod\n", ["m.yaml:1: not a manifest"]),
        ("kind: List\nitems: 7\n", ["m.yaml:2: items: is not a list"]),
        ("kind: List\nitems: [7]\n", ["m.yaml:2: items[0]: not a manifest"]),
        (
            POD + "  resourceClaim: []\nstatus: {}\n",
            ['m.yaml:9: spec.resourceClaim: unknown field "resourceClaim"; did you mean "resource'],
        ),
        (POD.replace("p\n", "P\n", 1), ["m.yaml:4: metadata.name: Invalid value"]),
        (POD.replace("    image: i\n", ""), ["m.yaml:7: spec.containers[0].image: Required"]),
        (POD.replace("name: c", "name: 5"), ["m.yaml:7: spec.containers[0].name: is a whole"]),
        (
            POD + "  resourceClaims:\n  - name: a\n    x: 1\n",
            ["m.yaml:11: spec.resourceClaims[0].x"],
        ),
        (
            CLAIM.replace("name: a", "name: A") + "      count: -1\n",
            ["m.yaml:8: spec.devices.requests[0].name", "m.yaml:10: spec.devices.requests[0]"],
        ),
        (
            CLAIM + "      selectors: [{cel: {expression: device.foo}}]\n",
            ["m.yaml:10: spec.devices.requests[0].selectors[0].cel.expression"],
        ),
        (CLAIM.replace("v1beta1", "v7"), ["m.yaml:1: apiVersion: resource.k8s.io has no version"]),
        (POD + "---\n" + POD, ['m.yaml:10: pods "p" already exists']),
        (CLAIM, ["m.yaml: no Pod, Deployment or other workload found"]),
    ],
)
def test_fault_has_its_line(tmp_path: Path, text: str, told: list[str]) -> None:
    """Each fault is one line that begins with the file and the line of what to change."""
    found = faults(tmp_path, text)
    assert len(found) == len(told)
    for line, beginning in zip(found, told, strict=True):
        assert line.startswith(beginning), line
        assert "\n" not in line


def test_admin_access_needs_a_label_of_an_own_namespace(tmp_path: Path) -> None:
    """What a real cluster would refuse is refused, where the user made the namespace."""
    claim = CLAIM.replace("name: x", "name: x\n  namespace: own") + "      adminAccess: true\n"
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: own\n"
    (fault,) = faults(tmp_path, f"{POD}---\n{namespace}---\n{claim}")
    assert "admin access to devices requires" in fault
    (note,) = read(tmp_path, POD + "---\n" + claim).notes
    assert "namespace own needs the label resource.kubernetes.io/admin-access=true" in note


def test_what_is_left_out_is_noted(tmp_path: Path) -> None:
    """Kinds that the embedded cluster does not have are left out, and said so with their line."""
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: x}\n"
    notes = read(tmp_path, f"{POD}---\n{other}---\n{cron}").notes
    run = "Pod, Deployment, ReplicaSet, StatefulSet, DaemonSet, Job"
    assert [note.removeprefix(f"{tmp_path}/") for note in notes] == [
        "m.yaml:11: ConfigMap ignored: the embedded cluster does not use it",
        f"m.yaml:15: CronJob ignored: the only workloads that run here are {run}",
    ]


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there, or a directory without manifests, is named."""
    with pytest.raises(RequestError, match=r"nope\.yaml: No such file"):
        read_manifests([str(tmp_path / "nope.yaml")])
    with pytest.raises(RequestError, match=r"no file in it ends with"):
        read_manifests([str(tmp_path)])
    with pytest.raises(RequestError, match=r"name a file or directory"):
        read_manifests([])
