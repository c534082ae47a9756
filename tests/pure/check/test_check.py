"""`netclaim check` as a user runs it: what it finds, on which line, and how it ends."""

import copy
import io
import json
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netclaim.check.report import check_files
from netclaim.cli.app import load_command
from netclaim.errors import NetclaimError, RequestError
from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import API_VERSIONS
from netclaim.manifests.text.documents import SIZE_MAX, ManifestError
from netclaim.manifests.text.files import parse_file

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted([*ROOT.glob("examples/*.yaml"), *ROOT.glob("examples/manifests/*.yaml")])

CLASS = dedent(
    """\
    apiVersion: resource.k8s.io/v1
    kind: DeviceClass
    metadata:
      name: nic
    spec:
      selectors:
      - cel:
          expression: device.driver == "cni.dra.networking.x-k8s.io"
    """
)
CLAIM = dedent(
    """\
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaim
    metadata:
      name: storage
    spec:
      devices:
        requests:
        - name: nic
          exactly:
            deviceClassName: nic
        config:
        - requests: [nic]
          opaque:
            driver: cni.dra.networking.x-k8s.io
            parameters:
              apiVersion: cni.networking.x-k8s.io/v1alpha1
              kind: CNI
              ifName: net1
              config:
                cniVersion: 1.0.0
                name: storage
                plugins:
                - type: macvlan
    """
)
POD = dedent(
    """\
    apiVersion: v1
    kind: Pod
    metadata:
      name: db
    spec:
      containers:
      - name: db
        image: postgres
        resources:
          claims:
          - name: net
            request: nic
      resourceClaims:
      - name: net
        resourceClaimName: storage
    """
)
# The claim as v1beta1 has it.
FLAT_CLAIM = CLAIM.replace("k8s.io/v1\n", "k8s.io/v1beta1\n", 1).replace(
    "      exactly:\n        deviceClassName", "      deviceClassName"
)
PARAMETERS = "spec.devices.config[0].opaque.parameters"


def lines(*documents: str) -> list[str]:
    """What is found in a file `x` of these documents."""
    report = check_files([parse_file("---\n".join(documents).encode(), "x")])
    return [str(finding) for finding in report.findings]


def run(*arguments: str) -> int:
    """Run the command in this process and return how it exits."""
    with pytest.raises(SystemExit) as caught:
        load_command("check")(args=list(arguments), prog_name="netclaim check")
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_a_right_set_is_clean() -> None:
    """A class, a claim and its pod that go together are nothing to speak of."""
    assert lines(CLASS, CLAIM, POD) == []
    assert lines(CLASS, FLAT_CLAIM, POD) == []


def test_empty_documents_are_nothing() -> None:
    """Documents of comments, or of nothing, as templates leave them, are passed over."""
    assert lines("", "# nothing\n", CLASS, "null\n", "\n") == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_have_no_mistakes(path: Path) -> None:
    """What we ship as an example has warnings at most."""
    assert check_files([parse_file(path.read_bytes(), path.name)]).errors == 0


def test_there_are_examples() -> None:
    """The examples are where they are looked for."""
    assert len(EXAMPLES) >= 5


# What to change in the claim above, and what is said of it, with its class and pod before it.
MISTAKES: list[tuple[str, str, str]] = [
    ("ifName: net1", "ifname: net1", f"27: error: {PARAMETERS}.ifname: unknown key "),
    ("ifName: net1", "ifname: net1", f"24: error: {PARAMETERS}.ifName: ifName is missing; for"),
    ("ifName: net1", "ifName: eth0", f"27: error: {PARAMETERS}.ifName: the pod already has"),
    ("cniVersion: 1.0.0", "cniVersion: 1.0", f"29: error: {PARAMETERS}.config.cniVersion: write"),
    ("type: macvlan", "typ: macvlan", f"32: error: {PARAMETERS}.config.plugins[0].type: type is"),
    ("requests: [nic]", "requests: [nick]", "21: error: spec.devices.config[0].requests[0]: Inv"),
    ("requests: [nic]", "requests: [nick]", "18: error: spec.devices.requests[0].exactly: no con"),
    ("deviceClassName: nic", "deviceClass: nic", "19: error: spec.devices.requests[0].exactly.de"),
    ("deviceClassName: nic", "deviceClassName: [nic]", "19: error: spec.devices.requests[0].exac"),
    ("deviceClassName: nic", "deviceClassName: nics", "19: warning: spec.devices.requests[0].exa"),
    ("name: storage", "name: Storage", "13: error: metadata.name: Invalid value"),
    ("kind: ResourceClaim", "kind: ResourceClaims", "11: error: kind: resource.k8s.io has no kind"),
    ("io/v1\n", "io/v2\n", "10: error: apiVersion: resource.k8s.io has no version 'v2'"),
    ("io/v1\n", "io/v1alpha3\n", "10: warning: apiVersion: no Kubernetes since 1.34 serves v1alp"),
]


@pytest.mark.parametrize(("right", "wrong", "expected"), MISTAKES)
def test_mistakes_of_a_claim(right: str, wrong: str, expected: str) -> None:
    """Each mistake is told with the line and the path of its own field."""
    assert right in CLAIM
    found = lines(CLASS, CLAIM.replace(right, wrong, 1))
    assert any(line.startswith(f"x:{expected}") for line in found), found


PLUGIN = f"{PARAMETERS}.config.plugins[0]"
# What to write instead of the claim's plugin, in line 32 and the following, and what is said of it.
INSIDE: list[tuple[str, str, str]] = [
    ("type: vlan, vlanId: 5000", "32", f"{PLUGIN}.vlanId: 5000 is not between 0 and 4094"),
    ("type: macvlan, mode: sideways", "32", f'{PLUGIN}.mode: "sideways" is not one of private'),
    ("type: macvlan, ipam: text", "32", f"{PLUGIN}.ipam: must be an object"),
    ("type: tuning,\n  sysctls: {}", "33", f'{PLUGIN}.sysctls: unknown key "sysctls"; did you mea'),
    (
        "type: macvlan, ipam: {type: host-local,\n  ranges: [[\n   {subnet: 10.1.0.0/33}]]}",
        "34",
        f"{PLUGIN}.ipam.ranges[0][0].subnet: '10.1.0.0/33' is not an address in CIDR notation",
    ),
    (
        "type: macvlan, ipam: {type: host-local, ranges: [[{subnet: 10.1.0.7/24}]]}",
        "32",
        f"{PLUGIN}.ipam.ranges[0][0].subnet: subnet 10.1.0.7/24 has host bits; use 10.1.0.0/24",
    ),
    (
        "type: macvlan, ipam: {type: host-local,\n  ranges: [{subnet: 10.1.0.0/24}]}",
        "33",
        f"{PLUGIN}.ipam.ranges[0]: must be a list of objects; for example [[{{subnet: 10.10.1.0",
    ),
]


@pytest.mark.parametrize(("plugin", "line", "expected"), INSIDE)
def test_mistakes_inside_a_configuration(plugin: str, line: str, expected: str) -> None:
    """What a plugin would refuse, or pass over, is found at its own line, once."""
    written = CLAIM.replace("type: macvlan", f"{{{plugin}}}")
    told = [one for one in lines(CLASS, written) if expected.split(": ", maxsplit=1)[0] in one]
    assert [one[: len(f"x:{line}: error: {expected}")] for one in told] == [
        f"x:{line}: error: {expected}"
    ]


def test_addresses_outside_of_the_ranges() -> None:
    """Addresses beside a network have to be among those that it gives."""
    ipam = "{type: macvlan, ipam: {type: host-local, ranges: [[{subnet: 10.1.0.0/24}]]}}"
    claim = CLAIM.replace("type: macvlan", ipam).replace(
        "ifName: net1\n", "ifName: net1\n          ips: [10.1.0.7, 10.2.0.7/24]\n"
    )
    (told,) = lines(CLASS, claim)
    outside = "10.2.0.7 is outside of the network's ranges, 10.1.0.1-10.1.0.254"
    assert told == f"x:28: error: {PARAMETERS}.ips[1]: {outside}"
    assert lines(CLASS, claim.replace("10.2.0.7/24", "")) == []


@pytest.mark.parametrize("named", ["", "          ifName: net1\n"])
def test_the_network_of_a_class_is_checked_too(named: str) -> None:
    """An admin's unknown key is a mistake of the class, whether or not a claim uses it."""
    config = (
        "  config:\n  - opaque:\n      driver: cni.dra.networking.x-k8s.io\n      parameters:\n"
        "          apiVersion: cni.networking.x-k8s.io/v1alpha1\n          kind: CNI\n"
        f"{named}"
        "          config: {cniVersion: 1.0.0, name: n, plugins: [{type: macvlan, colour: red}]}\n"
    )
    line = 16 if named else 15
    (told,) = lines(CLASS + config)
    path = "spec.config[0].opaque.parameters.config.plugins[0].colour"
    assert told.startswith(f'x:{line}: error: {path}: unknown key "colour"; known keys are type,')
    claim = CLAIM[: CLAIM.index("    config:\n")]
    if named:
        assert lines(CLASS + config, claim) == [told]


def test_what_takes_a_link_asks_for_it_alone() -> None:
    """A request that the driver would refuse on a shared link is a doubt, at its line."""
    greedy = CLAIM.replace("type: macvlan", "type: host-device")
    (told,) = lines(CLASS, greedy)
    assert "warning: spec.devices.requests[0].exactly: host-device takes a link" in told
    assert 'write `capacity: {requests: {wholeLink: "1"}}` into the request' in told
    asked = "        capacity: {requests: {attachments: 2}}\n        deviceClassName"
    assert lines(CLASS, greedy.replace("        deviceClassName", asked, 1)) == []
    one = asked.replace("2}", '"1"}', 1)
    assert len(lines(CLASS, greedy.replace("        deviceClassName", one, 1))) == 1
    is_function = 'device.attributes["cni.dra.networking.x-k8s.io"].isSriovVf'
    of_functions = CLASS.replace("device.driver ==", f"{is_function} && device.driver ==", 1)
    assert not any("takes a link" in line for line in lines(of_functions, greedy))


def test_a_misspelt_plugin_is_guessed() -> None:
    """It is a mistake where programs may not be named, and a doubt where the nodes may have it."""
    (told,) = lines(CLASS, CLAIM.replace("macvlan", "macvln"))
    assert told.endswith(
        f'error: {PLUGIN}.type: unknown plugin type "macvln"; did you mean "macvlan"?'
    )
    namespace = dedent(
        """\
        apiVersion: v1
        kind: Namespace
        metadata:
          name: default
          labels: {cni.networking.x-k8s.io/policy: privileged}
        """
    )
    (told,) = lines(CLASS, CLAIM.replace("macvlan", "macvln"), namespace)
    assert told.endswith(
        f'warning: {PLUGIN}.type: unknown plugin type "macvln"; did you mean "macvlan"?'
    )


def test_paths_are_those_of_the_version_that_is_written() -> None:
    """A claim of v1beta1 is told of its own fields, which are not under `exactly`."""
    (line,) = lines(CLASS, FLAT_CLAIM.replace("deviceClassName: nic", "deviceClassName: fast"))
    assert line.startswith("x:18: warning: spec.devices.requests[0].deviceClassName: no Device")


def test_fields_of_v1beta1_in_v1() -> None:
    """Who writes v1beta1's form under v1's name is told where the field belongs."""
    found = lines(CLASS, FLAT_CLAIM.replace("v1beta1", "v1"))
    assert any(line.endswith("it belongs under `exactly`") for line in found)


def test_a_selector_is_told_at_its_own_line() -> None:
    """A mistake in a block of CEL is at the block's line, and says which column."""
    expression = 'expression: |\n        device.driver == "x" &&\n        device.name == "y"\n'
    text = CLASS[: CLASS.index("expression:")] + expression
    (line,) = lines(text)
    assert line.startswith("x:10: error: spec.selectors[0].cel.expression: at 2:7 of the expr")


def test_a_class_sets_what_its_claims_leave_out() -> None:
    """Parameters of the class in the files are merged; its own mistakes are told at the class."""
    config = dedent(
        """\
          config:
          - opaque:
              driver: cni.dra.networking.x-k8s.io
              parameters:
                apiVersion: cni.networking.x-k8s.io/v1alpha1
                kind: CNI
                ifName: net1
        """
    )
    config = "".join(f"  {line}\n" for line in config.splitlines())
    claim = CLAIM.replace("          ifName: net1\n", "")
    assert lines(CLASS + config, claim) == []
    wrong = lines(CLASS + config.replace("net1", "a/b"), claim, claim.replace("storage", "other"))
    assert len(wrong) == 1
    assert wrong[0].startswith("x:15: error: spec.config[0].opaque.parameters.ifName: 'a/b' must")


def test_what_neither_the_class_nor_the_claim_sets() -> None:
    """A claim that leaves all to a class that sets half is told at its request."""
    config = "  config:\n  - opaque:\n      driver: cni.dra.networking.x-k8s.io\n"
    half = CLASS + config + "      parameters: {interface: net1}\n"
    (line,) = lines(half, CLAIM[: CLAIM.index("    config:")])
    assert line.startswith("x:22: error: spec.devices.requests[0].exactly: config is missing; w")
    assert lines(half) == []


def test_a_class_outside_the_files_may_set_it() -> None:
    """What a claim leaves out is a warning if its class is not at hand."""
    found = lines(CLAIM.replace("          ifName: net1\n", ""))
    assert [line.split(": ")[1] for line in found] == ["warning", "warning"]
    assert found[1].endswith("is missing; for example net1, unless the class nic sets it")


def test_parameters_of_other_drivers_are_left_alone() -> None:
    """An opaque driver that is not ours may have any parameters."""
    other = CLAIM.replace("cni.dra.networking.x-k8s.io", "dra.example").replace(
        "apiVersion: cni.networking.x-k8s.io/v1alpha1", "interface: {name: eth7}"
    )
    foreign = CLASS.replace("cni.dra.networking.x-k8s.io", "dra.example")
    assert lines(foreign, other) == []


def test_kinds_of_other_groups_are_left_alone() -> None:
    """A kind that has the name of one of ours and another group is not ours to judge."""
    text = "apiVersion: {}\nkind: {}\nspec: {{selectors: 7, template: none}}\n"
    assert lines(text.format("example.com/v1", "DeviceClass")) == []
    assert lines(text.format("batch.example.com/v1", "Job")) == []
    (line,) = lines(text.format("v1", "DeviceClass"))
    assert line.endswith("apiVersion: there is no DeviceClass in v1; write resource.k8s.io/v1")


@pytest.mark.parametrize("key", ["reason", "action", "reportingInstance", "note", "message"])
def test_an_event_with_a_number_for_a_text_is_a_finding(key: str) -> None:
    """A field of an event that has the wrong type is reported at its line."""
    event = (
        "apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {name: a, namespace: b}\n"
        f'eventTime: "2026-01-01T00:00:00.000000Z"\n{key}: 3\n'
    )
    assert lines(event) == [f"x:5: error: {key}: is a whole number, not a string"]


def test_a_driver_of_another_name_is_known_by_its_dialect() -> None:
    """Parameters that only netclaim reads are read under whatever driver's name they stand."""
    poc = CLAIM.replace("cni.dra.networking.x-k8s.io", "poc.example").replace("net1", "lo")
    found = lines(CLASS.replace("cni.dra.networking.x-k8s.io", "poc.example"), poc)
    assert [line.split(": ")[2] for line in found] == [f"{PARAMETERS}.ifName"]


def test_a_misspelt_driver_is_guessed() -> None:
    """Parameters for a driver that no request is for are at the name that has to be changed."""
    found = lines(
        CLASS,
        CLAIM.replace("driver: cni.dra.networking.x-k8s.io", "driver: cni.dra.networking.x-k8s.oi"),
    )
    (guess,) = [line for line in found if "did you mean" in line]
    assert guess == (
        "x:23: warning: spec.devices.config[0].opaque.driver: no request is for the driver"
        ' "cni.dra.networking.x-k8s.oi"; did you mean "cni.dra.networking.x-k8s.io"?'
    )


def test_alternatives_are_checked_each() -> None:
    """Each alternative of a request needs its configuration, its own or the request's."""
    alternatives = (
        "firstAvailable:\n"
        "      - {name: fast, deviceClassName: nic}\n"
        "      - {name: slow, deviceClassName: nic}\n"
    )
    claim = CLAIM.replace("exactly:\n        deviceClassName: nic\n", alternatives)
    assert lines(CLASS, claim) == []
    (line,) = lines(CLASS, claim.replace("requests: [nic]", "requests: [nic/fast]"))
    assert line.startswith("x:20: error: spec.devices.requests[0].firstAvailable[1]: no config")
    different = (
        "    - requests: [nic/slow]\n"
        "      opaque:\n"
        "        driver: cni.dra.networking.x-k8s.io\n"
        "        parameters: {interface: net2}\n"
    )
    assert lines(CLASS, claim + different) == []
    (line,) = lines(CLASS, claim + different.replace("interface:", "iface:"))
    assert "spec.devices.config[1].opaque.parameters.iface: unknown key" in line


@pytest.mark.parametrize(
    ("field", "line"),
    [
        pytest.param(
            "count: 3",
            "x:28: error: spec.devices.config[0].opaque.parameters.ifName: the request nic has 3 "
            "devices, but net1 is the name of one interface; write a pattern, for example net%d",
            id="count",
        ),
        pytest.param(
            "allocationMode: All",
            "x:20: warning: spec.devices.requests[0].exactly.allocationMode: All may allocate "
            "several devices, but net1 is the name of one interface; write a pattern as ifName, "
            "for example net%d",
            id="all",
        ),
    ],
)
def test_several_devices_need_a_pattern(field: str, line: str) -> None:
    """One name for several devices is a mistake, for perhaps several a doubt; a pattern is fine."""
    wanted = "deviceClassName: nic\n"
    claim = CLAIM.replace(wanted, f"{wanted}        {field}\n")
    assert lines(CLASS, claim) == [line]
    assert lines(CLASS, claim.replace("net1", "net%d")) == []


def test_patterns_of_a_pods_claims() -> None:
    """Each claim counts from 0, so two claims of a pod cannot have the same pattern."""
    wanted = "deviceClassName: nic\n"
    claim = CLAIM.replace(wanted, f"{wanted}        count: 3\n").replace("net1", "net%d")
    other = claim.replace("name: storage", "name: other", 1)
    pod = yaml.safe_load(POD)
    pod["spec"]["resourceClaims"].append({"name": "more", "resourceClaimName": "other"})
    (line,) = lines(CLASS, claim, other, yaml.safe_dump(pod))
    assert 'the interface name "net0" (and 2 more) is already used by the claim "' in line
    assert lines(CLASS, claim, other.replace("net%d", "data%d"), yaml.safe_dump(pod)) == []


ANNOTATED = dedent(
    """\
    apiVersion: v1
    kind: Pod
    metadata:
      name: old
      namespace: shop
      annotations:
        k8s.v1.cni.cncf.io/networks: macvlan
    spec:
      containers:
      - name: old
        image: postgres
    """
)
SHOP = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"
LABELLED = f"{SHOP}  labels: {{cni.networking.x-k8s.io/annotated-pods: claims}}\n"
DEPLOYED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: shop}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata:
      labels: {a: b}
      annotations: {k8s.v1.cni.cncf.io/networks: macvlan}
    spec:
      containers: [{name: c, image: i}]
"""


@pytest.mark.parametrize(
    ("namespace", "said"),
    [
        ("", "unless namespace shop has the label"),
        (SHOP, "Namespace shop has no label"),
    ],
)
def test_an_annotation_that_nothing_reads(namespace: str, said: str) -> None:
    """Multus' annotation is a warning, unless its namespace has the label by which it is read."""
    documents = [namespace] if namespace else []
    (line,) = lines(ANNOTATED, *documents)
    assert line.startswith("x:7: warning: metadata.annotations.k8s.v1.cni.cncf.io/networks: only")
    assert f"{said} cni.networking.x-k8s.io/annotated-pods=claims; `netclaim convert`" in line
    (line,) = lines(DEPLOYED, *documents)
    assert line.startswith("x:9: warning: spec.template.metadata.annotations.")
    assert lines(ANNOTATED, DEPLOYED, LABELLED) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiversion: v1\nkind: Pod\n", 'apiversion: unknown key "apiversion"; did you mean "api'),
        ("apiVersion: v1\nKind: Pod\n", 'Kind: unknown key "Kind"; did you mean "kind"?'),
        ("a: b\n", "not a manifest"),
    ],
)
def test_the_head_of_a_manifest(text: str, said: str) -> None:
    """A key that was meant to be apiVersion or kind is named."""
    (line,) = lines(text)
    assert said in line


def test_colour_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal a mistake is red; in a pipe there is nothing but its line."""
    file = tmp_path / "claim.yaml"
    file.write_text("apiversion: v1\nkind: Pod\n")
    assert run("-f", str(file)) == 1
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "400")
    assert run("-f", str(file)) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("\x1b[31m")
    assert shown.replace("\x1b[31m", "").replace("\x1b[0m", "") == plain


def test_admin_access_needs_a_label() -> None:
    """A namespace that is not known to have the label is a warning."""
    wanted = "deviceClassName: nic\n"
    claim = CLAIM.replace(wanted, f"{wanted}        adminAccess: true\n")
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: default\n"
    label = '  labels: {resource.kubernetes.io/admin-access: "true"}\n'
    for known in ((), (namespace,)):
        (line,) = lines(CLASS, claim, *known)
        assert ": warning: spec.devices.requests[0].exactly.adminAccess: since" in line
    assert lines(CLASS, claim, namespace + label) == []


def test_a_pod_names_what_is_not_there() -> None:
    """A claim or template that no file has is a warning, in the pod's namespace alone."""
    (line,) = lines(POD)
    assert line.startswith("x:15: warning: spec.resourceClaims[0].resourceClaimName: no Resource")
    elsewhere = POD.replace("name: db\n", "name: db\n  namespace: other\n", 1)
    assert any('"storage" in namespace other' in line for line in lines(CLASS, CLAIM, elsewhere))


def test_a_container_names_a_request_that_is_not_there() -> None:
    """A container's request must be one of the claim's."""
    (line,) = lines(CLASS, CLAIM, POD.replace("request: nic", "request: nics"))
    assert line.endswith('ResourceClaim storage has no request "nics"; it has nic')
    assert line.startswith("x:45: error: spec.containers[0].resources.claims[0].request: ")


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "StatefulSet", "CronJob"])
def test_two_claims_with_one_interface_name(kind: str) -> None:
    """Two claims of a pod that name their interface alike are a mistake, whatever makes the pod."""
    pod = yaml.safe_load(POD)
    pod["spec"]["resourceClaims"].append({"name": "more", "resourceClaimName": "other"})
    path = "spec"
    labels = {"metadata": {"labels": {"app": "db"}}}
    if kind != "Pod":
        pod["spec"] = {"template": {**labels, "spec": pod["spec"]}}
        pod["spec"]["selector"] = {"matchLabels": {"app": "db"}}
        pod["apiVersion"], path = "apps/v1", "spec.template.spec"
    if kind == "CronJob":
        pod["spec"]["template"]["spec"]["restartPolicy"] = "Never"
        pod["spec"] = {"schedule": "@hourly", "jobTemplate": {"spec": pod["spec"]}}
        pod["apiVersion"], path = "batch/v1", "spec.jobTemplate.spec.template.spec"
    pod["kind"] = kind
    workload = yaml.safe_dump(pod)
    other = CLAIM.replace("name: storage", "name: other", 1)
    (line,) = lines(CLASS, CLAIM, other, workload)
    said = 'the interface name "net1" is already used by the claim'
    assert f": error: {path}.resourceClaims[1]: {said}" in line
    assert lines(CLASS, CLAIM, other.replace("net1", "net2"), workload) == []


# What to change in the pod above, and what is said of it.
POD_MISTAKES: list[tuple[str, str, str]] = [
    (
        "resourceClaims:",
        "resourceClaim:",
        '13: error: spec.resourceClaim: unknown field "resource',
    ),
    (
        "resourceClaims:",
        "resourceclaims:",
        '13: error: spec.resourceclaims: unknown field "resour',
    ),
    ("image:", "imagee:", '8: error: spec.containers[0].imagee: unknown field "imagee"; did you m'),
    ("claims:\n", "claim:\n", '10: error: spec.containers[0].resources.claim: unknown field "cla'),
    ("image: postgres", "image: [a]", "8: error: spec.containers[0].image: is a list, not a str"),
    ("spec:", "specs: {}\nspec:", '5: error: specs: unknown field "specs"; did you mean "spec"?'),
    (
        "    image:",
        "    resourceClaims: []\n    image:",
        '8: error: spec.containers[0].resourceClaims: unknown field "resourceClaims"; it belongs u',
    ),
    (
        "containers:",
        "runAsUser: 5\n  containers:",
        '6: error: spec.runAsUser: unknown field "runAsUser"; it belongs under `securityContext`',
    ),
]


@pytest.mark.parametrize(("right", "wrong", "expected"), POD_MISTAKES)
def test_unknown_fields_of_a_pod(right: str, wrong: str, expected: str) -> None:
    """A pod is decoded strictly, as kubectl has it done: a field it does not have is an error."""
    assert right in POD
    found = lines(POD.replace(right, wrong, 1))
    assert any(line.startswith(f"x:{expected}") for line in found), found


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("Deployment", "strategi"), ("ReplicaSet", "replica"), ("StatefulSet", "serviceNames"),
        ("DaemonSet", "updateStrategi"), ("Job", "backofLimit"), ("ReplicationController", "repl"),
    ],
)  # fmt: skip
def test_unknown_fields_of_a_workload(kind: str, field: str) -> None:
    """What makes pods is decoded strictly too, and so is its template."""
    spec = {**yaml.safe_load(POD)["spec"], "resourceClaim": []}
    spec |= {"restartPolicy": "Never"} if kind == "Job" else {}
    labels = {"app": "db"}
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    template = {"metadata": {"labels": labels}, "spec": spec}
    found = {
        "apiVersion": API_VERSIONS[kind],
        "kind": kind,
        "metadata": {"name": "db"},
        "spec": {"selector": selector, "template": template, field: 1},
    }
    errors = [line.split(": ")[2] for line in lines(yaml.safe_dump(found)) if " error: " in line]
    assert sorted(errors) == sorted([f"spec.{field}", "spec.template.spec.resourceClaim"])


def test_a_pod_may_have_all_that_kubernetes_has() -> None:
    """Probes, volumes, affinity, numbers and names of ports: nothing of a whole pod is refused."""
    more = dedent(
        """\
          volumes:
          - {name: a, emptyDir: {sizeLimit: 1Gi}}
          - {name: b, projected: {sources: [{configMap: {name: c, items: [{key: k, path: p}]}}]}}
          - {name: c, csi: {driver: d, volumeAttributes: {any: thing}}}
          tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]
          affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms:
                - matchExpressions: [{key: k, operator: In, values: [v]}]
          initContainers:
          - name: i
            image: i
            env: [{name: N, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
            ports: [{containerPort: 80, name: web}]
            livenessProbe: {httpGet: {port: web}, periodSeconds: 3}
            readinessProbe: {tcpSocket: {port: 80}}
            resources: {limits: {cpu: 1, memory: 64Mi}, requests: {cpu: 0.5}}
            securityContext: {capabilities: {add: [NET_ADMIN]}, runAsUser: 0}
            lifecycle: {preStop: {sleep: {seconds: 3}}}
        """
    )
    assert lines(CLASS, CLAIM, POD + indent(more, "  ")) == []


def test_a_pod_on_the_nodes_network_has_no_interfaces() -> None:
    """The driver refuses such a pod, so it is an error at the field to remove."""
    found = lines(CLASS, CLAIM, POD.replace("  containers:", "  hostNetwork: true\n  containers:"))
    (line,) = found
    assert line.startswith("x:39: error: spec.hostNetwork: the pod is on the node's own network")


def test_pods_of_a_cron_job_end() -> None:
    """A CronJob is held to the rules of its Job, and needs a schedule."""
    job = "{template: {spec: {containers: [{name: a, image: i}]}}}"
    found = lines(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\n"
        f"spec:\n  jobTemplate:\n    spec: {job}\n"
    )
    assert [line.partition(": Required")[0] for line in found] == [
        "x:4: error: spec.schedule",
        "x:6: error: spec.jobTemplate.spec.template.spec.restartPolicy",
    ]


@pytest.mark.parametrize("version", ["v1alpha3", "v1beta2", "v1"])
def test_rules_for_taints_are_checked(version: str) -> None:
    """A DeviceTaintRule is right in each of its versions, and its mistakes are found."""
    rule = dedent(
        f"""\
        apiVersion: resource.k8s.io/{version}
        kind: DeviceTaintRule
        metadata: {{name: a}}
        spec:
          deviceSelector: {{device: eth0}}
          taint: {{key: example.com/broken, effect: NoExecute}}
        """
    )
    assert lines(rule) == []
    (found,) = lines(rule.replace("NoExecute", "NoExecutes"))
    assert found.startswith('x:6: error: spec.taint.effect: Unsupported value: "NoExecutes"')


# Where objects of other groups have their pods.
FOREIGN = {
    "MPIJob.kubeflow.org/v2beta1": ("mpiReplicaSpecs", "Worker", "template"),
    "JobSet.jobset.x-k8s.io/v1alpha2": ("replicatedJobs", 0, "template", "spec", "template"),
    "LeaderWorkerSet.leaderworkerset.x-k8s.io/v1": ("leaderWorkerTemplate", "workerTemplate"),
    "PodGroup.scheduling.k8s.io/v1alpha2": ("template",),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_pods_that_other_kinds_describe(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the kind, what its pods say of claims is checked, each at its place."""
    pod = yaml.safe_load(POD.replace("request: nic", "request: nik"))["spec"]
    spec: Any = {"spec": pod}
    for step in reversed(FOREIGN[kind]):
        spec = [spec] if step == 0 else {step: spec}
    name, _, version = kind.partition(".")
    foreign = {"apiVersion": version, "kind": name, "metadata": {"name": "a"}, "spec": spec}
    (found,) = lines(CLASS, CLAIM, json.dumps(foreign))
    assert ".spec.containers[0].resources.claims[0].request: " in found
    assert found.endswith('ResourceClaim storage has no request "nik"; it has nic')
    file = tmp_path / "all.yaml"
    file.write_text("---\n".join([CLASS, CLAIM, json.dumps(foreign)]))
    assert run("-f", str(file)) == 1
    assert f"; only the claims of pods in: 1 {name}" in capsys.readouterr().err


def on_link(master: str, expression: str) -> str:
    """A claim for a network on a link, with this selector; A stands for the driver's attributes."""
    made = yaml.safe_load(CLAIM)
    (request,) = made["spec"]["devices"]["requests"]
    ours = 'device.attributes["cni.dra.networking.x-k8s.io"]'
    request["exactly"]["selectors"] = [
        {"cel": {"expression": expression.replace("A.", f"{ours}.")}}
    ]
    (config,) = made["spec"]["devices"]["config"]
    config["opaque"]["parameters"]["config"]["plugins"][0]["master"] = master
    return json.dumps(made)


@pytest.mark.parametrize(
    "expression",
    [
        'A.name == "eth1"',
        'A.ifName in ["eth1", "eth2"]',
        'A.name == "eth1" || A.name.startsWith("ens")',
        '!(A.name == "eth1.100")',
        '(A.name == "eth1.100") == false',
        'A.mac == "02:00:00:00:00:01" && cel.bind(it, A.name, it == "eth1")',
    ],
)
def test_a_network_on_another_link_than_the_request(expression: str) -> None:
    """The driver would refuse it, so a warning says where the network would be without it."""
    (found,) = lines(CLASS, on_link("eth1.100", f'{expression} && A.name != "cni"'))
    assert "spec.devices.requests[0].exactly: the network names the link" in found
    assert 'the link "eth1.100", but the request selects another by its name' in found
    assert found.endswith("unless they are two names of one link")


@pytest.mark.parametrize(
    "expression",
    [
        'A.name == "eth1"',
        'A.name == "eth2" || A.mac == "02:00:00:00:00:01"',
        'A.name == "eth2" || true',
        '!(A.name == "eth2")',
        '(A.name == "eth2") == false',
        'device.attributes["acme.example"].name == "blue"',
        'A.name == "cni"',
        'A.kind == "generic"',
    ],
)
def test_a_network_on_a_link_that_the_request_may_select(expression: str) -> None:
    """However the selector is written; the device `cni` may stand on any link of the node."""
    assert lines(CLASS, on_link("eth1", expression)) == []


def test_one_claim_under_two_names() -> None:
    """A pod that names the same claim twice gets its interface once."""
    twice = POD + "  - name: again\n    resourceClaimName: storage\n"
    assert lines(CLASS, CLAIM, twice) == []


def test_the_same_name_twice() -> None:
    """Of two objects with one name the second is told where the first is."""
    (line,) = lines(CLASS, CLASS)
    assert line == "x:13: warning: metadata.name: DeviceClass nic is defined twice; also at x:1"


def test_kinds_that_are_gone() -> None:
    """What an old kind asked for and nothing can give any more is a mistake, the rest a warning."""
    old = dedent(
        """\
        apiVersion: v1
        kind: List
        items:
        - apiVersion: resource.k8s.io/v1alpha2
          kind: ResourceClass
          metadata: {name: toaster}
          driverName: toaster.example
          parametersRef: {name: dark}
        - apiVersion: resource.k8s.io/v1alpha2
          kind: PodSchedulingContext
        """
    )
    assert [line.split(": ")[:3] for line in lines(old)] == [
        ["x:4", "warning", "items[0].apiVersion"],
        ["x:5", "warning", "items[0].kind"],
        ["x:8", "error", "items[0].parametersRef"],
        ["x:9", "warning", "items[1].apiVersion"],
        ["x:10", "warning", "items[1].kind"],
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1", "x:1: error: not a manifest"),
        ("apiVersion: v1\nkind: [Pod]", "x:1: error: not a manifest"),
        ("apiVersion: v1\nkind: Pod\nspec:\n  7: x", "x:4: error: spec.7: this key is not a str"),
        ("apiVersion: v1\nkind: A\nb: .inf", "x:3: error: b: is not a number"),
        ("apiVersion: v1\nkind: A\nb: !!binary aGk=", "x:3: error: b: is a bytes by its tag"),
        ("apiVersion: v1\nkind: A\nb: 99999999999999999999", "x:3: error: b: does not fit into"),
        ('apiVersion: v1\nkind: A\n"b\\nc": .inf', r"x:3: error: b\nc: is not a number"),
    ],
)
def test_what_no_server_reads(text: str, line: str) -> None:
    """YAML that is no object, or that JSON has no form for, is a mistake on one line."""
    (found,) = lines(text)
    assert found.startswith(line)
    assert "\n" not in found


def test_many_mistakes_of_one_object_are_cut() -> None:
    """An object with thousands of unknown fields does not fill the screen."""
    fields = "".join(f"  field{number}: 1\n" for number in range(3000))
    assert len(lines(CLASS + fields)) == 100


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [\n", "x:2: not YAML: "),
        (b"a: &a\n  b: *a\n", "x:1: an anchor contains an alias to itself"),
        (b"a: 1\n\xff\x00", "x:2: not UTF-8 text"),
        (b"a: 1\nb: \x00\n", "x:2: not YAML: found a control character"),
        (b" " * (SIZE_MAX + 1), "x:1: larger than 4 MiB"),
        (b"just words\n", "x:1: not a manifest"),
        (b"a: 1\na: 2\n", "x:2: duplicate key 'a'"),
        (b"a: {{ .Values.a }}\n", "x:1: "),
    ],
)
def test_what_cannot_be_read(content: bytes, message: str) -> None:
    """A file that is no YAML at all is one line with file and line, and no findings."""
    with pytest.raises(ManifestError) as caught:
        check_files([parse_file(content, "x")])
    assert str(caught.value).startswith(message)


def test_every_unreadable_file_is_told(tmp_path: Path) -> None:
    """Of several files that cannot be read, each is named: no YAML, no text, a key twice."""
    for name, content in (("x", b"a: ["), ("y", CLASS.encode()), ("z", b"\xff")):
        (tmp_path / f"{name}.yaml").write_bytes(content)
    with pytest.raises(ExceptionGroup) as caught:
        load_command("check")(args=["-f", str(tmp_path)], prog_name="netclaim check")
    files = [str(error).split(":")[0] for error in caught.value.exceptions]
    assert files == [f"{tmp_path}/x.yaml", f"{tmp_path}/z.yaml"]
    twice = [parse_file(b"a: 1\na: 2\n", name) for name in ("x", "y")]
    with pytest.raises(ExceptionGroup) as caught:
        check_files(twice)
    assert len(caught.value.exceptions) == 2


def test_lists_within_lists() -> None:
    """The items of a List are checked wherever it is; a List without a list is no manifest."""
    bad = CLAIM.replace("ifName: net1", "ifName: eth0")
    items = [yaml.safe_load(CLASS), {"kind": "List", "items": [yaml.safe_load(bad)]}]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    (line,) = lines(text)
    assert line.startswith(f"x:1: error: items[1].items[0].{PARAMETERS}.ifName: the pod already")
    with pytest.raises(ManifestError, match=r"^x:2: items: is not a list"):
        lines("kind: List\nitems: 7\n")


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Findings go to stdout and the sum to stderr; mistakes exit with 1, warnings with 0."""
    monkeypatch.chdir(tmp_path)
    Path("class.yaml").write_text(CLASS)
    Path("claim.yaml").write_text(CLAIM.replace("ifName: net1", "ifName: a b"))
    assert run("-f", "class.yaml", "claim.yaml") == 1
    shown = capsys.readouterr()
    assert shown.out.startswith(f"claim.yaml:18: error: {PARAMETERS}.ifName: 'a b' must not hold")
    assert shown.err == "1 error, 0 warnings in 2 objects of 2 files\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CLAIM.encode())))
    assert run("-f", "-") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("stdin:10: warning: ")
    assert shown.err == "0 errors, 1 warning in 1 object of 1 file\n"


def test_what_is_not_checked_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects of kinds that nothing is known of are counted, never approved in silence."""
    text = "apiVersion: {}\nkind: {}\nmetadata: {{name: x}}\n"
    others = [("v1", "Secret"), ("v1", "Secret"), ("example.com/v1", "DeviceClass")]
    file = tmp_path / "all.yaml"
    file.write_text("---\n".join([CLASS, *(text.format(*other) for other in others)]))
    assert run("-f", str(file)) == 0
    shown = capsys.readouterr()
    said = "0 errors, 0 warnings in 1 object of 1 file; not checked: "
    assert shown.err == f"{said}1 DeviceClass.example.com, 2 Secret\n"
    assert run("-f", str(file), "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["notChecked"] == {"DeviceClass.example.com": 1, "Secret": 2}


def test_json_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-o json prints the counts, and each finding with its parts."""
    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM)
    assert run("-o", "json", "-f", str(file), "-f", str(file)) == 0
    said = json.loads(capsys.readouterr().out)
    run("-o", "yaml", "-f", str(file))
    assert yaml.safe_load(capsys.readouterr().out) == said
    (finding,) = said.pop("findings")
    assert said == {"errors": 0, "warnings": 1, "objects": 1, "files": 1} | {
        "notChecked": {},
        "podsOnly": {},
    }
    assert finding == {
        "severity": "warning",
        "file": str(file),
        "line": 10,
        "path": "spec.devices.requests[0].exactly.deviceClassName",
        "message": 'no DeviceClass "nic" in these files; it must already be in the cluster',
    }


def test_namespace_of_what_names_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-n is where objects are that do not say, as for `kubectl apply`."""
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    assert run("-f", str(file), "-n", "team") == 0
    assert " in namespace team in these files" in capsys.readouterr().out
    file.write_text(POD.replace("metadata:\n", "metadata:\n  namespace: own\n", 1))
    assert run("-f", str(file), "-n", "team") == 0
    assert " in namespace own in these files" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a file or directory with -f"),
        (("-f", "nowhere.yaml"), "nowhere.yaml: No such file or directory"),
        (("-f", "-", "-o", "xml"), '--output: unknown format "xml"; write text, json or yaml'),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], message: str) -> None:
    """What the command cannot do is said in one line."""
    with pytest.raises(RequestError) as caught:
        load_command("check")(args=list(arguments), prog_name="netclaim check")
    assert str(caught.value).startswith(message)


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["nic", "nic/fast", "All", "net1", "a]b", "x)", "List", "spec", "v1alpha2"])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=3) | st.sampled_from(["name", "spec", "requests", "config", "opaque"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
OLD_CLAIM = {
    "apiVersion": "resource.k8s.io/v1alpha2",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "old"},
    "spec": {"spec": {"resourceClassName": "nic", "parametersRef": {"name": "x"}}},
}
OBJECTS = [*(yaml.safe_load(text) for text in (CLASS, CLAIM, FLAT_CLAIM, POD)), OLD_CLAIM]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a value, with each of its keys or indices."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found = []
    for key, child in inner:
        found += [(value, key), *places(child)]
    return found


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Manifests of which up to three fields hold something else."""
    objects = copy.deepcopy(draw(st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=4)))
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(objects)))
        container[key] = draw(VALUES)
    return yaml.safe_dump_all(copy.deepcopy(objects), allow_unicode=True)


@settings(max_examples=300, deadline=None)
@given(damaged() | VALUES.map(yaml.safe_dump) | st.text())
@example("apiVersion: v1\nkind: List\nitems: [1, {}, null]\n")
@example("? [a, b]\n: c\n")
def test_nothing_but_our_errors(text: str) -> None:
    """Whatever the document, there is a report or an error of ours, and a line for each finding."""
    findings: tuple[Finding, ...] = ()
    try:
        findings = check_files([parse_file(text.encode(errors="surrogatepass"), "x")]).findings
    except* NetclaimError:
        pass
    last = text.count("\n") + 1
    for finding in findings:
        assert 1 <= finding.line <= last
        assert str(finding).isprintable()


NETWORK = """
apiVersion: cni.networking.x-k8s.io/v1alpha1
kind: PodNetwork
metadata: {name: media-net}
spec:
  type: macvlan
  parent: {name: eth1}
  enabled: ENABLED
  namespaces: {matchLabels: {team: media}}
"""
NAMESPACES = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: other}}
- {apiVersion: v1, kind: Namespace, metadata: {name: media, labels: {team: media}}}
"""
ONE_LINE = """
apiVersion: v1
kind: Pod
metadata: {name: app, namespace: NAMESPACE}
spec:
  containers: [{name: c, image: alpine}]
  resourceClaims: [{name: media, resourceClaimTemplateName: media-net}]
"""


@pytest.mark.parametrize(
    ("namespace", "enabled", "said"),
    [
        ("media", "true", ""),
        ("other", "true", "the namespace other may not use the network media-net; give it the"),
        ("media", "false", "the PodNetwork media-net is switched off; set spec.enabled"),
    ],
)
def test_a_pod_hears_why_it_has_no_network(namespace: str, enabled: str, said: str) -> None:
    """By the network's name, where the files show the network and the namespace's labels."""
    pod = ONE_LINE.replace("NAMESPACE", namespace)
    found = lines(NAMESPACES, NETWORK.replace("ENABLED", enabled), pod)
    assert [said in line and ": error: " in line for line in found] == ([True] if said else [])


def test_a_namespace_has_its_name_as_a_label() -> None:
    """The API server writes it, so a network can select namespaces by name."""
    network = NETWORK.replace("team: media", "kubernetes.io/metadata.name: other")
    pod = ONE_LINE.replace("NAMESPACE", "other")
    assert lines(NAMESPACES, network.replace("ENABLED", "true"), pod) == []


def test_a_network_of_an_unknown_type_is_one_mistake() -> None:
    """Nothing is made of it, so nothing else is said of it."""
    (line,) = lines(NETWORK.replace("type: macvlan", "type: macvlans").replace("ENABLED", "true"))
    assert 'spec.type: Unsupported value: "macvlans"' in line


def test_a_network_in_the_spelling_of_the_talks() -> None:
    """A PodNetwork of `v1`, as KEP-3698 had it: somebody else's is left alone, ours is checked."""
    talks = NETWORK.replace("cni.networking.x-k8s.io/v1alpha1", "v1").replace("ENABLED", "true")
    assert said_of(talks) == []
    assert said_of("---".join((NAMESPACES, talks, ONE_LINE.replace("NAMESPACE", "media")))) == []
    wrong = talks.replace("type: macvlan", "type: warp")
    assert any("spec.type" in each for each in said_of(wrong))
    bare = "apiVersion: v1\nkind: PodNetwork\nmetadata: {name: a}\nspec: {provider: theirs.io/a}\n"
    assert said_of(bare) == []


def said_of(text: str) -> list[str]:
    """What is found in a file."""
    return [str(each) for each in check_files([parse_file(text.encode(), "m.yaml")]).findings]


@pytest.mark.parametrize(("version", "basic"), [("v1", False), ("v1beta1", True)])
def test_an_attribute_that_is_a_list(version: str, basic: bool) -> None:
    """Whether the API server has lists is not in the files; all else is judged as ever."""
    attributes: dict[str, Any] = {
        "models": {"strings": ["a", "b"]},
        "no-identifier": {"ints": [1]},
        "both": {"strings": ["a"], "string": "a"},
    }
    device: dict[str, Any] = {"attributes": attributes}
    spec = {
        "driver": "gpu.example.com",
        "nodeName": "a",
        "pool": {"name": "a", "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0", **({"basic": device} if basic else device)}],
    }
    slice_ = {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceSlice"}
    found = lines(json.dumps({**slice_, "metadata": {"name": "a"}, "spec": spec}))
    warned = [line for line in found if ": warning: " in line]
    assert all("needs the feature gate DRAListTypeAttributes" in line for line in warned)
    assert ["models" in line for line in warned] == [True, False]
    (refused,) = (line for line in found if ": error: " in line)
    assert 'Invalid value: "no-identifier": must be letters, digits' in refused
