"""`netclaim explain` on files: what fits, what does not, and the words that say why."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from netclaim.cli import main
from tests.support.explain_objects import (
    ATTRIBUTES,
    DRIVER,
    allocated,
    claim,
    deployment,
    device_class,
    link,
    links,
    node,
    pod,
    template,
)

ETH1 = f'{ATTRIBUTES}.name == "eth1"'
ONE = links("one", link("eth0"), link("eth1"))
TWO = links("two", link("eth0"))

# Each a way to get a selector wrong, the device that was meant, and what has to be said of it.
TYPOS = {
    "space": (f'{ATTRIBUTES}.name == "eth1 "', "one/eth1", 'name is "eth1"; they differ only in w'),
    "case": (
        f'{ATTRIBUTES}.name == "Eth1"',
        "one/eth1",
        "they differ only in upper and lower case",
    ),
    "both": (f'{ATTRIBUTES}.name == " Eth1"', "one/eth1", "white space, and in upper and lower"),
    "swapped": (f'{ATTRIBUTES}.name == "eht1"', "one/eth1", 'name is "eth1"; did you mean "eth1"?'),
    "quoted": (
        f'{ETH1} && {ATTRIBUTES}.mtu == "1500"',
        "one/eth1",
        "mtu is 1500; mtu is a number; write 1500 without quotes",
    ),
    "other-number-quoted": (
        f'{ATTRIBUTES}.mtu == "9000"',
        "one/",
        "mtu is a number; write 9000 without quotes",
    ),
    "quoted-bound": (
        f"'9000' < {ATTRIBUTES}.mtu",
        "one/",
        "mtu is a number; write 9000 without quotes",
    ),
    "word-for-a-number": (
        f'{ATTRIBUTES}.mtu == "jumbo"',
        "one/",
        "mtu is a number; write a number without quotes",
    ),
    "quoted-boolean": (
        f'{ATTRIBUTES}.rdma == "true"',
        "one/",
        "rdma is true or false; write true without quotes",
    ),
    "unquoted": (f"{ATTRIBUTES}.name == 1", "one/", 'name is a string; write "1" in quotes'),
    "attribute": (
        f'{ATTRIBUTES}.nam == "eth1"',
        "one/eth1",
        'only mtu, name, rdma; did you mean "name"?',
    ),
    "attribute-case": (f'{ATTRIBUTES}.Name == "eth1"', "one/eth1", 'did you mean "name"?'),
    "key": (f'{ATTRIBUTES}["nam"] == "eth1"', "one/eth1", 'did you mean "name"?'),
    "optional": (
        f'{ATTRIBUTES}.?nam.orValue("") == "eth1"',
        "one/",
        'has no nam; did you mean "name"?',
    ),
    "alone": (f"{ATTRIBUTES}.rdam", "one/", 'the device has mtu, name, rdma; did you mean "rdma"?'),
    "in": (f'"nam" in {ATTRIBUTES}', "one/", 'it has mtu, name, rdma; did you mean "name"?'),
    "domain": (
        'device.attributes["cni.networking.x-k8s.io"].name == "eth1"',
        "one/eth1",
        f"its domains: {DRIVER}; did you mean {ATTRIBUTES}.name?",
    ),
    "domain-and-attribute": (
        'device.attributes["dra.networking.x-k8s.io"].nam == "eth1"',
        "one/eth1",
        f"did you mean {ATTRIBUTES}.name?",
    ),
    "in-domain": (
        '"name" in device.attributes["cni.networking.x-k8s.io"]',
        "one/",
        f"it has no attributes; did you mean {ATTRIBUTES}.name?",
    ),
    "driver": (f'device.driver == "{DRIVER}.io"', "one/", f'did you mean "{DRIVER}"?'),
    "field": ('device.drivr == "x"', "one/", "undefined field 'drivr'; did you mean \"driver\"?"),
}


class Told(NamedTuple):
    """How a run ended, and what it said."""

    code: Any
    lines: list[str]
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The cells of the tables' rows."""
        rows = [line.split(None, 3) for line in self.lines if "   " in line]
        return [row for row in rows if row[0] != "NODE"]


Explain = Callable[..., Told]


@pytest.fixture
def explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    """Run the command on a file of objects."""

    def run(*objects: dict[str, Any], arguments: tuple[str, ...] = ()) -> Told:
        file = tmp_path / "all.json"
        file.write_text("\n---\n".join(json.dumps(one) for one in objects))
        with pytest.raises(SystemExit) as caught:
            main(["explain", "-f", str(file), *arguments])
        out, err = capsys.readouterr()
        return Told(caught.value.code, out.splitlines(), err)

    return run


def test_claim_that_fits(explain: Explain) -> None:
    """A claim that fits says where and with which device, then tells of every device."""
    told = explain(ONE, TWO, device_class(), claim("nic", ETH1))
    assert told.code == 0
    assert told.lines[0] == "claim default/nic: fits on one (eth1)"
    assert told.rows == [
        ["one", "eth1", "nic", "fits"],
        ["one", "eth0", "nic", 'selectors[0]: name == "eth1" is false (name is "eth0")'],
        ["two", "eth0", "nic", 'selectors[0]: name == "eth1" is false (name is "eth0")'],
    ]


@pytest.mark.parametrize("typo", TYPOS)
def test_typo_is_obvious(explain: Explain, typo: str) -> None:
    """The nearest miss is the device that was meant, with what was found and what was meant."""
    expression, device, words = TYPOS[typo]
    told = explain(ONE, TWO, device_class(), claim("nic", expression))
    assert told.code == 1
    assert told.lines[0].startswith("claim default/nic: cannot be allocated: ")
    assert told.lines[1].startswith(f"nearest: {device}")
    assert "selectors[0] of request nic" in told.lines[1]
    assert words in told.lines[1]


def test_the_number_that_was_put_in_quotes_is_the_nearest(explain: Explain) -> None:
    """A device that has the very number comes before those with another."""
    some = links("one", link("eth0"), link("eth1", mtu=9000))
    told = explain(some, TWO, device_class(), claim("nic", f'{ATTRIBUTES}.mtu == "9000"'))
    assert told.lines[1].startswith("nearest: one/eth1: ")
    assert told.lines[1].endswith("mtu is 9000; mtu is a number; write 9000 without quotes")


def test_other_value_is_no_typo(explain: Explain) -> None:
    """A value that differs in a number, or that another device has, gets no hint."""
    told = explain(ONE, TWO, device_class(), claim("nic", f'{ATTRIBUTES}.name == "eth7"'))
    assert not any("did you mean" in line for line in told.lines)
    both = f"{ETH1} && {ATTRIBUTES}.mtu == 9000"
    told = explain(ONE, TWO, device_class(), claim("nic", both))
    assert told.lines[1].endswith(f"{ATTRIBUTES}.mtu == 9000 - mtu is 1500")
    told = explain(ONE, device_class(), claim("nic", f"{ATTRIBUTES}.name.size() == 9"))
    assert told.lines[1].endswith('size() == 9 - name is "eth0"')


def test_clause_of_another_selector(explain: Explain) -> None:
    """Only the selector and the clause that are false are named, by their place."""
    told = explain(ONE, device_class(), claim("nic", "true", f"{ETH1} && {ATTRIBUTES}.mtu > 1500"))
    assert told.lines[1] == (
        "nearest: one/eth1: selectors[1] of request nic is false:"
        f" {ATTRIBUTES}.mtu > 1500 - mtu is 1500"
    )


def test_taken_device(explain: Explain) -> None:
    """A device that is taken says by which claim, and for which pod."""
    told = explain(ONE, device_class(), allocated("old", "eth1", user="db"), claim("nic", ETH1))
    assert told.lines[0] == "claim default/old: allocated: old has one/eth1, which pod db uses"
    assert told.lines[1].endswith(
        "none of 2 devices on 1 node fits; 1 would fit, but is taken or tainted"
    )
    assert told.lines[2] == "nearest: one/eth1: taken by claim default/old, which pod db uses"


def test_what_is_taken_is_nearer_than_what_is_similar(explain: Explain) -> None:
    """The device that was asked for, and that somebody has, comes before one of a similar name."""
    long = "gpu-rail-alpha-0000-port"
    slices = links("one", link(f"{long}-1"), link(f"{long}-2"))
    asked = claim("nic", f'{ATTRIBUTES}.name == "{long}-1"')
    told = explain(slices, device_class(), allocated("old", f"{long}-1"), asked)
    assert told.lines[2] == f"nearest: one/{long}-1: taken by claim default/old"


def test_no_device_of_the_driver_at_all(explain: Explain) -> None:
    """Where only other drivers publish, the first line says so: no selector is to blame."""
    other = links("one", link("gpu0"))
    other["spec"]["driver"] = "gpu.example.com"
    told = explain(other, device_class(), claim("nic", ETH1))
    assert told.lines[0].endswith(f"request nic: no device of {DRIVER} is published on 1 node")


def test_claims_that_miss_the_same_device_share_its_line(explain: Explain) -> None:
    """A pod with three claims has one line for each device, not three."""
    wanted = [claim(name, f'{ATTRIBUTES}.name == "eth7"') for name in ("a", "b", "c")]
    told = explain(ONE, device_class(), *wanted, pod("p", x="a", y="b", z="c"))
    assert [row[1] for row in told.rows] == ["eth0", "eth1"]


def test_pods_that_wait_for_the_same_are_one_paragraph(explain: Explain) -> None:
    """The replicas of a workload, as a cluster has them, are counted."""
    claims = [claim(f"nic-{number}", f'{ATTRIBUTES}.name == "eth7"') for number in range(3)]
    pods = [pod(f"web-{number}", nic=f"nic-{number}") for number in range(3)]
    told = explain(ONE, device_class(), *claims, *pods)
    assert sum(line.startswith("pod ") for line in told.lines) == 1
    assert told.lines[0].startswith("pod default/web-0 and 2 pods like it: cannot be allocated")
    assert len(told.rows) == 2


def test_pods_take_one_after_the_other(explain: Explain) -> None:
    """What one pod gets, the next one cannot have."""
    claims = [claim("a", ETH1), claim("b", ETH1)]
    told = explain(ONE, device_class(), *claims, pod("p", nic="a"), pod("q", nic="b"))
    assert told.code == 1
    assert told.lines[0] == "pod default/p: fits on one (eth1)"
    assert told.lines[2] == "nearest: one/eth1: taken by claim default/a, which pod p uses"


def test_shared_claim_is_taken_once(explain: Explain) -> None:
    """Pods that share a claim share its device."""
    told = explain(ONE, device_class(), claim("a", ETH1), pod("p", nic="a"), pod("q", nic="a"))
    assert told.code == 0
    assert told.lines == [
        "pod default/p: fits on one (eth1)",
        "pod default/q: allocated: a has one/eth1, which pod p uses",
    ]


def test_what_makes_pods_some_time_is_explained(explain: Explain) -> None:
    """A CronJob's pods are looked for where it has them; another group's kind is not its own."""
    made = deployment("web", 1, net="nic")
    job = {"jobTemplate": {"spec": {"template": made["spec"]["template"]}}}
    cron = {**made, "apiVersion": "batch/v1", "kind": "CronJob", "spec": job}
    objects = (ONE, device_class(), template("nic", ETH1), cron)
    foreign = {**device_class(), "apiVersion": "example.com/v1", "spec": 7}
    told = explain(*objects, foreign, arguments=("cronjob/web",))
    assert told.lines[0] == "cronjob default/web: fits on one (eth1)"


def test_replicas_are_counted(explain: Explain) -> None:
    """Of a deployment it is said how many of its pods fit, and why one more does not."""
    objects = (ONE, TWO, device_class(), template("nic"))
    told = explain(*objects, deployment("web", 3, net="nic"))
    assert told.lines[0] == "deployment default/web: fits on one (2 pods), two (1 pod)"
    told = explain(*objects, deployment("web", 4, net="nic"))
    assert told.code == 1
    assert told.lines[0].startswith("deployment default/web: 3 of 4 pods fit, one more cannot be")
    assert explain(*objects, deployment("web", 0, net="nic")).code == 0


def test_too_few_devices(explain: Explain) -> None:
    """A count that no node has is told with the best that there is."""
    told = explain(ONE, TWO, device_class(), claim("nic", count=3))
    assert told.lines[0].endswith("request nic needs 3 devices on one node, and at most 2 fit")


def test_constraint(explain: Explain) -> None:
    """A constraint that cannot hold is named with the values."""
    mixed = links("one", link("eth0", 1500), link("eth1", 9000))
    same = [{"matchAttribute": f"{DRIVER}/mtu"}]
    told = explain(mixed, device_class(), claim("nic", count=2, constraints=same))
    assert f"matchAttribute {DRIVER}/mtu cannot be satisfied" in told.lines[0]
    assert "eth1 has 9000" in told.lines[0]


def test_alternatives(explain: Explain) -> None:
    """Of a request with alternatives, all are told of, and the nearest miss is of any of them."""
    wanted = claim("nic")
    ways = {"first": f'{ATTRIBUTES}.mtu == 9000 && {ATTRIBUTES}.name == "x"', "second": "false"}
    wanted["spec"]["devices"]["requests"][0] = {
        "name": "nic",
        "firstAvailable": [
            {"name": n, "deviceClassName": "nics", "selectors": [{"cel": {"expression": e}}]}
            for n, e in ways.items()
        ],
    }
    told = explain(ONE, device_class(), wanted)
    assert told.code == 1
    assert {row[2] for row in told.rows} == {"nic/first", "nic/second"}
    ways_that_fit = wanted["spec"]["devices"]["requests"][0]["firstAvailable"]
    ways_that_fit[1]["selectors"] = []
    assert explain(ONE, device_class(), wanted).lines[0].endswith("fits on one (eth0)")


def test_taint_and_pool(explain: Explain) -> None:
    """A taint and a pool that lacks a slice are reasons too."""
    taint = {"key": "broken", "effect": "NoSchedule"}
    tainted = links("one", link("eth1", taints=[taint]))
    half = links("two", link("eth1"), slices=2)
    told = explain(tainted, half, device_class(), claim("nic", ETH1))
    assert told.lines[1] == "nearest: one/eth1: taint broken:NoSchedule is not tolerated"
    (pool,) = [line for line in told.lines if line.startswith("two ")]
    assert pool.endswith(f"pool {DRIVER}/two: 1 of 2 slices of generation 1")


def required(operator: str) -> dict[str, Any]:
    """A pod's wish for nodes of zone b."""
    terms = [{"matchExpressions": [{"key": "zone", "operator": operator, "values": ["b"]}]}]
    selector = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": selector}}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"nodeSelector": {"zone": "b"}}, "does not have the label zone=b of nodeSelector"),
        ({}, "the pod does not tolerate taint gpu=yes:NoSchedule"),
        (required("In"), "the node does not match the required node affinity"),
        (
            required("Like"),
            "affinity cannot be read: a node selector has the unknown operator 'Like'",
        ),
    ],
)
def test_node_that_is_closed_to_the_pod(explain: Explain, spec: dict[str, Any], why: str) -> None:
    """A node that the pod cannot be on says why, whatever devices it has."""
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    nodes = (node("one", {"zone": "a"}, taints=[taint]), node("two", {"zone": "b"}))
    wanting = pod("p", nic="a")
    wanting["spec"] |= spec
    told = explain(ONE, TWO, *nodes, device_class(), claim("a", ETH1), wanting)
    assert told.code == 1
    assert any(line.startswith("one ") and line.endswith(why) for line in told.lines)


def test_extended_resource_is_a_claim(explain: Explain) -> None:
    """What a pod wants of a class by an extended resource is allocated with the rest."""
    wanted = pod("web")
    limits = {"deviceclass.resource.kubernetes.io/nics": 3, "example.com/others": 1}
    wanted["spec"]["containers"] = [{"name": "c", "resources": {"limits": limits}}]
    told = explain(ONE, TWO, device_class(), wanted)
    assert told.code == 1
    assert told.lines[0].startswith(
        "pod default/web: cannot be allocated: request container-0-request-0 needs 3 devices"
    )


def test_pod_that_the_scheduler_never_sees(explain: Explain) -> None:
    """A pod with nodeName does not run, unless its claim has got devices in another way."""
    told_to = pod("p", nic="a")
    told_to["spec"]["nodeName"] = "one"
    told = explain(ONE, device_class(), claim("a", ETH1), told_to)
    assert told.code == 1
    assert told.lines[0].startswith("pod default/p: does not run: nodeName is set to one, so the")
    assert "Use nodeSelector (kubernetes.io/hostname: one) or node affinity" in told.lines[0]
    (answer,) = json.loads(
        "\n".join(
            explain(ONE, device_class(), claim("a", ETH1), told_to, arguments=("-o", "json")).lines
        )
    )["answers"]
    assert answer["outcome"] == "does not run"
    told = explain(ONE, device_class(), allocated("a", "eth1", user="p"), told_to)
    assert told.code == 0
    assert told.lines[0] == "pod default/p: allocated: a has one/eth1, which pod p uses"


def test_daemon_set_has_a_pod_on_each_node(explain: Explain) -> None:
    """A DaemonSet fits if each node that takes it has the devices, also a cordoned one."""
    objects = (ONE, TWO, device_class(), node("two", unschedulable=True))
    each = {**deployment("d", 1, net="nic"), "kind": "DaemonSet"}
    told = explain(*objects, template("nic"), each)
    assert told.lines[0] == "daemonset default/d: fits on one (1 pod), two (1 pod)"
    told = explain(*objects, template("nic", ETH1), each)
    assert told.code == 1
    assert told.lines[0] == (
        "daemonset default/d: 1 of 2 pods fit, one more cannot be allocated:"
        " request nic: none of 1 device on 1 node fits"
    )
    assert told.lines[1].startswith("nearest: two/eth0: ")
    assert any(line.startswith("one ") and "pod of this node fits" in line for line in told.lines)


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"completions": 5}, 1),
    ],
)
@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_pods_of_a_job_at_a_time(
    explain: Explain, spec: dict[str, Any], pods: int, kind: str
) -> None:
    """A Job needs devices for its parallelism, and never for more than it has to complete."""
    made = deployment("j", 1, net="nic")
    job = {**spec, "template": made["spec"]["template"]}
    outer = job if kind == "Job" else {"jobTemplate": {"spec": job}}
    made |= {"apiVersion": "batch/v1", "kind": kind, "spec": outer}
    told = explain(links("one", *map(link, "abcd")), device_class(), template("nic"), made)
    counted = "(a)" if pods == 1 else f"({pods} pods)"
    assert told.lines[0] == f"{kind.lower()} default/j: fits on one {counted}"


def test_only_pods_take_devices(explain: Explain) -> None:
    """Templates and claims that no pod uses take nothing from each other or from pods."""
    few = links("one", link("eth0"))
    told = explain(few, device_class(), template("t"), template("u"), claim("c"), claim("d"))
    assert told.code == 0
    assert told.lines == [
        "claim default/c: fits on one (eth0)",
        "claim default/d: fits on one (eth0)",
        "template default/t: a claim made from it fits on one (eth0)",
        "template default/u: a claim made from it fits on one (eth0)",
    ]


def test_template_beside_what_uses_it(explain: Explain) -> None:
    """A template is judged by itself, also beside a workload of its name that takes all devices."""
    objects = (links("one", link("eth0")), device_class(), template("web"))
    told = explain(*objects, deployment("web", 1, net="web"), arguments=("web",))
    assert told.code == 0
    assert [line for line in told.lines if "default/web" in line] == [
        "deployment default/web: fits on one (eth0)",
        "template default/web: a claim made from it fits on one (eth0)",
    ]


def test_tolerated_node_and_cordoned_one(explain: Explain) -> None:
    """A taint that the pod tolerates is no reason; a cordon always is."""
    taint = {"key": "gpu", "effect": "NoSchedule"}
    wanting = pod("p", nic="a")
    wanting["spec"]["tolerations"] = [{"operator": "Exists"}]
    objects = (ONE, device_class(), claim("a", ETH1), wanting)
    assert explain(*objects, node("one", taints=[taint])).code == 0
    told = explain(*objects, node("one", unschedulable=True))
    assert told.lines[0].endswith("cannot be allocated: no node accepts the pod")


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        (
            [claim("nic", deviceClassName="nisc")],
            'DeviceClass "nisc" does not exist; did you mean "nics"?',
        ),
        (
            [pod("p", net="nics"), claim("nic")],
            'ResourceClaim "nics" does not exist; did you mean "nic"?',
        ),
        ([deployment("d", 1, net="x")], 'ResourceClaimTemplate "x" does not exist'),
    ],
)
def test_what_is_named_and_not_there(
    explain: Explain, objects: list[dict[str, Any]], why: str
) -> None:
    """A class, claim or template that does not exist is named, with the nearest that does."""
    told = explain(ONE, device_class(), *objects)
    assert told.code == 1
    assert why in told.lines[0]


def test_json(explain: Explain) -> None:
    """As JSON there are the same words, by field."""
    objects = (ONE, device_class(), claim("nic", f'{ATTRIBUTES}.name == "eth1 "'))
    told = explain(*objects, arguments=("-o", "json"))
    (answer,) = json.loads("\n".join(told.lines))["answers"]
    assert (told.code, answer["name"], answer["outcome"]) == (1, "nic", "cannot be allocated")
    assert answer["nearest"] == answer["devices"][0]
    assert answer["nearest"]["device"] == "eth1"
    assert answer["nearest"]["why"][0].endswith("they differ only in white space")
    assert [one["fits"] for one in answer["devices"]] == [False, False]


def test_name_and_namespace(explain: Explain) -> None:
    """A name chooses, with its kind if need be; a namespace too."""
    here, there = claim("nic", ETH1), claim("nic", "false")
    here["metadata"]["namespace"], there["metadata"]["namespace"] = "default", "team"
    objects = (ONE, device_class(), here, there, claim("other"))
    told = explain(*objects, arguments=("claim/nic", "-n", "team"))
    assert [line for line in told.lines if line.startswith("claim ")] == [
        "claim team/nic: cannot be allocated: request nic: none of 2 devices on 1 node fits"
    ]
    told = explain(*objects, arguments=("other", "-n", "team"))
    assert told.lines[0] == "claim team/other: fits on one (eth0)"  # it names none of its own


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("po/web", "pod default/web"),
        ("pods/web", "pod default/web"),
        ("Pod web", "pod default/web"),
        ("deploy/web", "deployment default/web"),
        ("deployments.apps/web", "deployment default/web"),
        ("claims a", "claim default/a"),
        ("resourceclaim.resource.k8s.io/a", "claim default/a"),
        ("template/t", "template default/t"),
        ("resourceclaimtemplates t", "template default/t"),
    ],
)
def test_kinds_are_named_as_for_kubectl(explain: Explain, words: str, title: str) -> None:
    """Singular, plural and short names of a kind, with or without its group."""
    uses = (pod("web", nic="a"), deployment("web", 1, net="t"))
    objects = (ONE, TWO, device_class(), claim("a"), template("t"), *uses)
    told = explain(*objects, arguments=tuple(words.split()))
    assert (told.code, told.lines[0].split(": ")[0]) == (0, title)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("deploy/web",),
            "deploy/web: a Deployment is explained from files only; name one of its pods",
        ),
        (("-A", "-n", "team"), "--namespace and --all-namespaces cannot be used together"),
    ],
)
def test_arguments_that_no_cluster_has_to_answer(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be asked of a cluster is refused before one is looked for."""
    with pytest.raises(SystemExit) as caught:
        main(["explain", *arguments])
    assert caught.value.code == 2
    assert capsys.readouterr().err == f"netclaim: {said}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nci",), 'no pod or claim "nci"; did you mean "nic"?'),
        (("pod/nic",), 'no pod "nic"; there are none'),
        (("thing/nic",), 'unknown kind "thing"; the kinds are pod, cronjob, '),
        (("old", "-n", "x"), 'no pod or claim "old" in namespace x; existing ones: nic'),
        (("-o", "xml"), '--output: unknown format "xml"; write text, json or yaml'),
    ],
)
def test_arguments_that_cannot_be(explain: Explain, arguments: tuple[str, ...], words: str) -> None:
    """What is asked for and does not exist is one line, and exit code 2."""
    old = claim("old")
    old["metadata"]["namespace"] = "default"
    told = explain(ONE, device_class(), old, claim("nic"), arguments=arguments)
    assert told.code == 2
    assert words in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "all.json:2: not YAML"),
        ("# only a comment", "all.json: no manifests found"),
        ("---\n# Source: a\n---\n", "all.json: no manifests found"),
        ("kind: List\nitems: 7", "all.json:2: items: is not a list"),
        ("\nkind: Pod", "all.json:2: not a manifest"),
        ("{apiVersion: v1, kind: Pod}", "all.json:1: metadata.name is missing"),
        (json.dumps(claim("nic")), "the files have no ResourceSlice"),
        (json.dumps(ONE), "all.json: nothing needs devices"),
        ("---\n" + json.dumps({**ONE, "spec": []}), "all.json:2: ResourceSlice slice-one: not a"),
        (json.dumps({**pod("p"), "spec": {"resourceClaims": [1]}}), "all.json:1: not a valid Pod"),
        (json.dumps({**pod("p"), "spec": "none"}), "all.json:1: not a valid Pod"),
        (json.dumps({**ONE, "apiVersion": "resource.k8s.io/v7"}), "has no version 'v7'"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    """Bad input is one line with file and line, and exit code 2."""
    file = tmp_path / "all.json"
    file.write_text(text)
    with pytest.raises(SystemExit) as caught:
        main(["explain", "-f", str(file)])
    err = capsys.readouterr().err
    assert caught.value.code == 2
    assert words in err
    assert err.count("\n") == 1


def test_list_of_an_older_version(explain: Explain) -> None:
    """A List of objects of an older version is read as well."""
    old = claim("nic", ETH1)
    request = old["spec"]["devices"]["requests"][0]
    old["spec"]["devices"]["requests"] = [{"name": "nic", **request["exactly"]}]
    old["apiVersion"] = "resource.k8s.io/v1beta1"
    items = {"apiVersion": "v1", "kind": "List", "items": [ONE, device_class(), old]}
    assert explain(items).lines[0] == "claim default/nic: fits on one (eth1)"


def wrong(made: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    """Return a claim, template or class with other parameters."""
    spec = made["spec"].get("spec", made["spec"])
    config = spec.get("devices", spec)["config"][0]
    config["opaque"]["parameters"] = parameters
    return made


def test_mistakes_in_parameters(explain: Explain) -> None:
    """A claim that fits is told what the driver will refuse, a line each, as check says it."""
    nic = wrong(claim("nic", ETH1), interfac="net1", config={"name": "n", "type": "macvlan"})
    told = explain(ONE, device_class(), nic)
    assert told.code == 1
    assert told.lines[0] == "claim default/nic: fits on one (eth1)"
    places = [
        line.partition("all.json:5: error: spec.devices.config[0].")[2] for line in told.lines
    ]
    assert [place.split(": ")[0] for place in places[1:4]] == [
        "opaque.parameters.interfac",
        "opaque.parameters.interface",
        "",
    ]
    (answer,) = json.loads(
        "\n".join(explain(ONE, device_class(), nic, arguments=("-o", "json")).lines)
    )["answers"]
    assert (answer["outcome"], answer["mistakes"]) == ("fits", told.lines[1:3])


def test_mistakes_are_told_of_what_uses_them(explain: Explain) -> None:
    """A pod is told of its claims', templates' and classes' mistakes, and of no others."""
    bad = wrong(template("bad"), interface="eth0", config={"name": "n", "type": "macvlan"})
    told = explain(ONE, device_class(), bad, template("good"), deployment("web", 1, net="bad"))
    assert told.code == 1
    assert [line for line in told.lines if " error: " in line] == [told.lines[1]]
    assert "parameters.interface: the pod already has an interface named eth0" in told.lines[1]
    told = explain(
        ONE, device_class(), bad, template("good"), deployment("web", 1, net="good"),
        arguments=("web",),
    )  # fmt: skip
    assert told.code == 0


def test_two_claims_of_a_pod_with_one_interface_name(explain: Explain) -> None:
    """A pod whose claims each are right, and together are not, is told."""
    objects = (ONE, device_class(), claim("a"), claim("b"), pod("p", x="a", y="b"))
    objects[-1]["spec"]["containers"] = [{"name": "c", "image": "i"}]
    told = explain(*objects)
    assert told.code == 1
    assert (
        'resourceClaims[1]: the interface name "net1" is already used by the claim "x"'
        in told.lines[1]
    )
    objects[-1]["metadata"]["namespace"] = "team"  # where -n puts the claims
    assert explain(*objects, arguments=("-n", "team")).lines[1] == told.lines[1]


def test_doubts_are_no_mistakes(explain: Explain) -> None:
    """What check warns of, as it may go wrong, is not told and changes no exit code."""
    told = explain(links("one", link("eth0")), device_class(), claim("nic", allocationMode="All"))
    assert told.code == 0
    assert not any("warning" in line for line in told.lines)


def test_a_file_that_the_api_server_would_refuse(explain: Explain) -> None:
    """A pod that fits and that no API server takes is told so; one that has a uid passed it."""
    bad = pod("p", nic="nic")
    bad["spec"]["containers"] = [{"name": "c", "image": "i", "resources": {"claims": [{}]}}]
    told = explain(ONE, device_class(), claim("nic"), bad)
    assert told.code == 1
    assert told.lines[0].startswith("pod default/p: fits on one")
    assert "error: spec.containers[0].resources.claims[0]: Required value" in told.lines[1]
    bad["metadata"]["uid"] = "8c3f"
    assert explain(ONE, device_class(), claim("nic"), bad).code == 0


def test_a_pod_that_needs_nothing_by_mistake(explain: Explain) -> None:
    """A pod that has its claims under a misspelt key is told, also where nothing else is asked."""
    bad = pod("p")
    bad["spec"] = {"containers": bad["spec"]["containers"], "resourceClaim": []}
    words = 'spec.resourceClaim: unknown field "resourceClaim"; did you mean "resourceClaims"?'
    told = explain(ONE, device_class(), bad)
    assert (told.code, len(told.lines)) == (1, 1)
    assert told.lines[0].endswith(f"all.json:5: error: {words}")
    told = explain(ONE, device_class(), claim("nic"), bad)
    assert told.code == 1
    assert told.lines[0].startswith("claim default/nic: fits")
    assert told.lines[-1].endswith(words)
    found = json.loads(
        "\n".join(explain(ONE, device_class(), claim("nic"), bad, arguments=("-o", "json")).lines)
    )
    assert found["mistakes"] == [told.lines[-1]]
    assert explain(ONE, device_class(), claim("nic"), bad, arguments=("nic",)).code == 0


def test_a_misspelt_driver(explain: Explain) -> None:
    """Parameters for a driver whose name is nearly right are told, with the name that is meant."""
    nic = claim("nic", ETH1)
    nic["spec"]["devices"]["config"][0]["opaque"]["driver"] = DRIVER.replace("x-k8s", "k8s-x")
    told = explain(ONE, device_class(), nic)
    assert told.code == 1
    assert [f'did you mean "{DRIVER}"?' in line for line in told.lines[1:3]] == [False, True]


def test_mistakes_of_an_older_version_in_a_namespace(explain: Explain) -> None:
    """Paths are those of the file's version, and objects are looked up where -n puts them."""
    old = wrong(claim("nic", ETH1), interface="lo", config={"name": "n", "type": "macvlan"})
    request = old["spec"]["devices"]["requests"][0]
    old["spec"]["devices"]["requests"] = [
        {
            "name": "nic",
            **request["exactly"],
            "selectors": [{"cel": {"expression": "device.driver"}}],
        }
    ]
    old["apiVersion"] = "resource.k8s.io/v1beta1"
    told = explain(ONE, device_class(), old, arguments=("-n", "team"))
    found = [line.split(" error: ")[1].split(": ")[0] for line in told.lines if " error: " in line]
    assert found == [
        "spec.devices.requests[0].selectors[0].cel.expression",
        "spec.devices.config[0].opaque.parameters.interface",
    ]


def test_long_table_is_cut(explain: Explain) -> None:
    """A screen shows the nearest forty devices and says how many more there are; JSON has all."""
    many = links("one", *(link(f"eth{number}") for number in range(60)))
    objects = (many, device_class(), claim("nic", f'{ATTRIBUTES}.name == "ETH7"'))
    told = explain(*objects)
    assert len(told.rows) == 40
    assert told.rows[0][1] == "eth7"
    assert "20 more lines are not shown; use -o json to see all" in told.lines
    (answer,) = json.loads("\n".join(explain(*objects, arguments=("-o", "json")).lines))["answers"]
    assert len(answer["devices"]) == 60


def test_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All manifests of a directory are read together."""
    for number, one in enumerate((ONE, device_class(), claim("nic", ETH1))):
        (tmp_path / f"{number}.yaml").write_text(json.dumps(one))
    (tmp_path / "notes.txt").write_text("[")
    with pytest.raises(SystemExit) as caught:
        main(["explain", "-f", str(tmp_path)])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("claim default/nic: fits on one (eth1)\n")


def test_files_that_a_shell_expands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What follows `-f` and ends like a manifest is one more file; the name may stand anywhere."""
    files = []
    for number, one in enumerate((ONE, device_class(), claim("nic", ETH1), claim("other"))):
        files.append(str(tmp_path / f"{number}.yaml"))
        Path(files[-1]).write_text(json.dumps(one))
    with pytest.raises(SystemExit) as caught:
        main(["explain", "-f", *files, "nic"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("claim default/nic: fits on one (eth1)\n")
    with pytest.raises(SystemExit) as caught:
        main(["explain", "-f", *files, "nic", "other"])
    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        "netclaim: other: only one name is allowed, and nic is given too\n"
    )


def test_networks_are_known_by_name(explain: Explain) -> None:
    """A pod that names a network is explained as the controller would have it, or why not."""
    network = {
        "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
        "kind": "PodNetwork",
        "metadata": {"name": "media-net"},
        "spec": {
            "type": "macvlan",
            "parent": {"name": "eth1"},
            "namespaces": {"matchLabels": {"team": "media"}},
        },
    }
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in (("media", {"team": "media"}), ("other", {}))
    ]
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "app", "namespace": name},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "resourceClaims": [{"name": "n", "resourceClaimTemplateName": "media-net"}],
            },
        }
        for name in ("media", "other")
    ]
    told = explain(*namespaces, network, *pods, ONE)
    assert told.lines[0] == "pod media/app: fits on one (eth1)"
    (refused,) = [line for line in told.lines if line.startswith("pod other/app")]
    assert "the namespace other may not use the network media-net" in refused


def test_a_claim_of_a_network_is_told_its_name(explain: Explain) -> None:
    """Also where a claim has nothing but the network's attribute, which has no class of its own."""
    attributes = {
        f"multinetwork.networking.k8s.io/{key}": {"string": ""} for key in ("podNetwork", "other")
    }
    offered = links("one", {"name": "eth1", "attributes": attributes})
    asked = 'device.attributes["multinetwork.networking.k8s.io"].podNetwork == "media-net"'
    told = explain(device_class(), offered, claim("by-attribute", asked))
    assert told.lines[0] == (
        "claim default/by-attribute: cannot be allocated: request nic for the network media-net:"
        " none of 1 device on 1 node fits"
    )
