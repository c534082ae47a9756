"""netclaim-attach as the runtime executes it: which pods wait for the driver, and which never."""

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from netclaim.chained import OK, Answer, AttachServer, Refusal, Request
from tests.embedded.chained.chained_site import (
    CLAIM,
    NAMESPACE,
    POD_UID,
    RESULT,
    SANDBOX,
    Site,
    checkpoint,
)

OTHER_POD = "4cf8db2d-06c0-7d70-1a51-e59b25b2c16c"
TRY_AGAIN_LATER = 11


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A node of its own."""
    return Site(tmp_path)


# -- pods that claim nothing -----------------------------------------------------------------------


def test_a_pod_that_claims_nothing_is_passed_on(site: Site) -> None:
    """Without the driver, and with one that hangs: the result comes out as it came in, at once."""
    assert site.run("ADD").passed
    with site.unasked_driver():
        assert site.run("ADD").passed


def test_after_an_uninstall_everything_passes(site: Site) -> None:
    """With the plans gone, as on a node that the driver left, no pod waits for anything."""
    assert site.run("ADD", site.with_result(plans="/nonexistent")).passed


@pytest.mark.parametrize("version", ["0.4.0", "1.1.0"])
def test_a_list_of_nothing_else(site: Site, version: str) -> None:
    """Without an earlier result the least result of the version is printed."""
    ran = site.run("ADD", site.config(cniVersion=version))
    assert (ran.status, json.loads(ran.out)) == (0, {"cniVersion": version})
    assert json.loads(site.run("ADD", site.config(cniVersion=None)).out) == {"cniVersion": "0.3.0"}


@pytest.mark.parametrize(
    "arguments",
    [
        "K8S_POD_UID=../pods/x;K8S_POD_NAMESPACE=..",
        "K8S_POD_UID=;K8S_POD_NAMESPACE=.",
        "",
        "K8S_POD_UID",
    ],
)
def test_names_that_are_no_names(site: Site, arguments: str) -> None:
    """A UID or namespace that could be a path leads to no file."""
    site.plans.note_pod("x")
    assert site.run("ADD", CNI_ARGS=arguments).passed


# -- a pod that the driver knows -------------------------------------------------------------------


def test_a_planned_pod_has_the_drivers_word(site: Site) -> None:
    """The driver is told all there is to know; with its ok the pod goes on."""
    site.plans.note_pod(POD_UID)
    with site.driver(b"ok\n") as asked:
        assert site.run("ADD").passed
    head, _, body = asked[0].partition(b"\n\n")
    assert head.decode().splitlines() == [
        "netclaim/1 ADD",
        f"container={SANDBOX}",
        "netns=/run/netns/pod",
        "ifname=eth0",
        f"args=IgnoreUnknown=1;K8S_POD_NAMESPACE={NAMESPACE};K8S_POD_UID={POD_UID}",
        f"length={len(body)}",
    ]
    assert body.decode() == site.with_result()


def test_the_drivers_refusal_is_the_pods(site: Site) -> None:
    """Code and message arrive as a CNI error, whatever characters they have."""
    site.plans.note_pod(POD_UID)
    with site.driver(b'error 103\nno "link"\n\xff\xe2\x82\xac'):
        error = site.run("ADD").error
    assert error == {"cniVersion": "1.0.0", "code": 103, "msg": 'no "link"\n?\u20ac'}


@pytest.mark.parametrize("answer", [b"error x\nno", b"error 0\nno", b"error \nno", b"maybe\n"])
def test_an_answer_that_makes_no_sense_refuses(site: Site, answer: bytes) -> None:
    """An answer that cannot be understood is no leave to go on."""
    site.plans.note_pod(POD_UID)
    with site.driver(answer):
        assert site.run("ADD").error["code"] == 999


@pytest.mark.parametrize("said", [b"", b"o", b"ok", b"error 11"])
def test_a_planned_pod_whose_driver_dies(site: Site, said: bytes) -> None:
    """A connection that is lost before an answer is made again, for as long as somebody listens."""
    site.plans.note_pod(POD_UID)
    with site.driver(said, b"ok\n") as asked:
        assert site.run("ADD").passed
    assert len(set(asked)) == 1
    with site.driver(said):
        error = site.run("ADD", site.with_result(timeoutSeconds=0.3)).error
    assert error["code"] == TRY_AGAIN_LATER
    assert "nic.example did not answer within" in error["msg"]


def test_a_planned_pod_without_its_driver(site: Site) -> None:
    """Without a socket, or with one that nobody listens on, the pod is refused for now."""
    site.plans.note_pod(POD_UID)
    error = site.run("ADD").error
    assert error["code"] == TRY_AGAIN_LATER
    assert "nic.example is not running on this node" in error["msg"]
    with socket.socket(socket.AF_UNIX) as leftover:
        leftover.bind(str(site.socket))
    assert "Connection refused" in site.run("ADD").error["msg"]
    too_long = site.with_result(socket="/run/" + "a" * 200)
    assert "File name too long" in site.run("ADD", too_long).error["msg"]


@pytest.mark.parametrize("backlog", [0, 8])
def test_a_planned_pod_whose_driver_hangs(site: Site, backlog: int) -> None:
    """A driver that never answers, or whose backlog is full, refuses when the time is up."""
    site.plans.note_pod(POD_UID)
    with site.hung_driver(backlog=backlog), socket.socket(socket.AF_UNIX) as first:
        first.connect(str(site.socket))  # which fills a backlog of none
        error = site.run("ADD", site.with_result(timeoutSeconds=0.3)).error
    assert error["code"] == TRY_AGAIN_LATER
    assert "nic.example did not answer within" in error["msg"]


def test_an_instance_that_leaves_points_to_the_next(site: Site) -> None:
    """`again` is asked again, on the same path."""
    site.plans.note_pod(POD_UID)
    with site.driver(b"again\n", b"again\n", b"ok\n") as asked:
        assert site.run("ADD").passed
    assert len(set(asked)) == 1
    assert len(asked) == 3


def test_an_instance_that_leaves_before_the_next_comes(site: Site) -> None:
    """After `again` the program waits for the next instance, as long as its time lasts."""
    site.plans.note_pod(POD_UID)
    with site.driver(b"again\n"):
        ran = site.run("ADD", site.with_result(timeoutSeconds=0.3))
    assert ran.error["code"] == TRY_AGAIN_LATER


def test_large_input(site: Site) -> None:
    """A MiB goes through; more than that is refused."""
    site.plans.note_pod(POD_UID)
    room = (1 << 20) - len(site.with_result(padding=""))
    with site.driver(b"ok\n") as asked:
        assert site.run("ADD", site.with_result(padding="a" * room)).passed
    assert len(asked[0].partition(b"\n\n")[2]) == 1 << 20
    error = site.run("ADD", site.with_result(padding="a" * (room + 1))).error
    assert "more than 1 MiB" in error["msg"]


def test_control_characters_are_not_sent(site: Site) -> None:
    """A value that would break the lines of the request refuses a planned pod, and no other."""
    assert site.run("ADD", CNI_IFNAME="eth0\nuid=1").passed
    site.plans.note_pod(POD_UID)
    assert site.run("ADD", CNI_IFNAME="eth0\nuid=1").error["code"] == 4
    assert site.run("DEL", CNI_IFNAME="eth0\nuid=1").status == 0


# -- claims that are shared ------------------------------------------------------------------------


def test_a_pod_beside_a_shared_claim_is_asked_about(site: Site) -> None:
    """Where a claim may be shared, the driver decides, listed by kubelet or not."""
    site.plans.set_shared(NAMESPACE, [CLAIM])
    site.state.write_text(checkpoint())
    with site.driver(b"ok\n", b"error 7\nno") as asked:
        assert site.run("ADD").passed
        assert site.run("ADD").error["code"] == 7
    assert len(asked) == 2
    site.plans.set_shared("other", [CLAIM])
    site.plans.set_shared(NAMESPACE, [])
    assert site.run("ADD").passed


@pytest.mark.parametrize("state", [checkpoint(), checkpoint(**{CLAIM: [OTHER_POD]}),
    checkpoint(**{CLAIM: [], OTHER_POD: [POD_UID]}), '{"Data": [], "PodUIDs": []}'])  # fmt: skip
def test_a_pod_that_does_not_use_the_shared_claim(site: Site, state: str) -> None:
    """Without the driver, a pod that kubelet does not list under the claim goes on."""
    site.plans.set_shared(NAMESPACE, [CLAIM])
    site.state.write_text(state)
    assert site.run("ADD").passed
    with site.hung_driver():
        assert site.run("ADD", site.with_result(shortTimeoutSeconds=0.2)).passed


@pytest.mark.parametrize(
    "state",
    [
        checkpoint(**{CLAIM: [POD_UID]}),
        checkpoint(**{OTHER_POD: [], CLAIM: [OTHER_POD, POD_UID]}),
        json.dumps({"Data": {"ClaimInfoStateList": [{"PodUIDs": [POD_UID], "ClaimUID": CLAIM}]}}),
        json.dumps({"claims": f"written by a kubelet of the future for {POD_UID}"}),
        f"no JSON, but {POD_UID}",
    ],
)
def test_a_pod_that_uses_the_shared_claim(site: Site, state: str) -> None:
    """Without the driver, a pod that kubelet lists under the claim is refused for now."""
    site.plans.set_shared(NAMESPACE, [OTHER_POD, CLAIM])
    site.state.write_text(state)
    assert site.run("ADD").error["code"] == TRY_AGAIN_LATER
    with site.hung_driver():
        slow = site.with_result(timeoutSeconds=0.2, shortTimeoutSeconds=0.1)
        assert "did not answer" in site.run("ADD", slow).error["msg"]


@pytest.mark.parametrize("content", [None, ""])
def test_a_kubelet_that_says_nothing(site: Site, content: str | None) -> None:
    """If kubelet's file cannot be read, the pod is refused: nobody can know."""
    site.plans.set_shared(NAMESPACE, [CLAIM])
    if content is not None:
        site.state.write_text(content)
    assert "cannot be read" in site.run("ADD").error["msg"]


# -- a driver that lost its journal ----------------------------------------------------------------


def test_a_driver_that_has_to_look_everything_up(site: Site) -> None:
    """Every pod is asked about, but none waits for a driver that is away or hangs."""
    site.plans.ask_all(True)
    with site.driver(b"ok\n", b"error 7\nno"):
        assert site.run("ADD").passed
        assert site.run("ADD").error["msg"] == "no"
    assert site.run("ADD").passed
    with site.hung_driver():
        assert site.run("ADD", site.with_result(shortTimeoutSeconds=0.2)).passed


# -- the other commands ----------------------------------------------------------------------------


def test_del_tells_the_driver_what_it_has_to_know(site: Site) -> None:
    """A sandbox with something of ours, or a pod that may have, is reported; no other is."""
    with site.unasked_driver():
        assert site.run("DEL").status == 0
    notes: list[Callable[[], None]] = [
        lambda: site.plans.note_sandbox(SANDBOX),
        lambda: site.plans.note_pod(POD_UID),
        lambda: site.plans.set_shared(NAMESPACE, [CLAIM]),
        lambda: site.plans.ask_all(True),
    ]
    forgets: list[Callable[[], None]] = [
        lambda: site.plans.forget_sandbox(SANDBOX),
        lambda: site.plans.forget_pod(POD_UID),
        lambda: site.plans.set_shared(NAMESPACE, []),
        lambda: site.plans.ask_all(False),
    ]
    for note, forget in zip(notes, forgets, strict=True):
        note()
        with site.driver(b"error 7\nno") as asked:
            ran = site.run("DEL")
        assert (ran.status, ran.out) == (0, "")
        assert asked[0].startswith(b"netclaim/1 DEL\n")
        forget()


def test_del_never_fails(site: Site) -> None:
    """Without the driver, with one that hangs, or with nonsense for a configuration: success."""
    site.plans.note_sandbox(SANDBOX)
    assert site.run("DEL").status == 0
    with site.hung_driver():
        assert site.run("DEL", site.config(shortTimeoutSeconds=0.2)).status == 0
    for stdin in ("", "{", "[]", "{}", "a" * (1 << 21)):
        assert site.run("DEL", stdin).status == 0
    assert site.run("DEL", CNI_CONTAINERID="../x", CNI_ARGS="").status == 0


def test_gc_is_handed_on(site: Site) -> None:
    """The driver gets the list of what is valid, if it is there."""
    assert site.run("GC").status == 0
    stdin = site.config(**{"cni.dev/valid-attachments": []})
    with site.driver(b"ok\n") as asked:
        ran = site.run("GC", stdin)
    assert (ran.status, ran.out) == (0, "")
    assert asked[0].endswith(stdin.encode())


def test_check_is_add_without_a_result(site: Site) -> None:
    """CHECK asks as ADD does, and prints nothing."""
    ran = site.run("CHECK")
    assert (ran.status, ran.out) == (0, "")
    site.plans.note_pod(POD_UID)
    assert site.run("CHECK").error["code"] == TRY_AGAIN_LATER
    with site.driver(b"ok\n") as asked:
        assert site.run("CHECK").status == 0
    assert asked[0].startswith(b"netclaim/1 CHECK\n")


def test_status_is_always_well(site: Site) -> None:
    """A driver that is away does not make the node NotReady."""
    site.plans.ask_all(True)
    for stdin in (site.config(), "", "{"):
        ran = site.run("STATUS", stdin)
        assert (ran.status, ran.out) == (0, "")


def test_versions(site: Site) -> None:
    """Every version whose results are passed on as they are is supported."""
    document = json.loads(site.run("VERSION", "").out)
    assert document["supportedVersions"] == ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]


@pytest.mark.parametrize("command", ["", "EAT", "add", None])
def test_unknown_commands(site: Site, command: str | None) -> None:
    """Anything else is an error in CNI's own form."""
    assert site.run(command).error["code"] == 4


@pytest.mark.parametrize(
    ("stdin", "code"),
    [
        (b"", 6),
        (b"{", 6),
        (b"[]", 6),
        (b"\x00", 6),
        (b'{"a":' * 400_000, 6),
        (b"{}", 7),
        (b'{"driver":1,"socket":2,"plans":3,"kubeletState":4}', 7),
        (b'{"driver":"a\\u0000b","socket":"s","plans":"p","kubeletState":"k"}', 7),
        (b'{"driver":"d","socket":"s","plans":"p","kubeletState":"k","prevResult":"r"}', 7),
    ],
)
def test_configurations_that_are_none(site: Site, stdin: bytes, code: int) -> None:
    """A configuration that cannot be read is an error in CNI's own form, not a crash."""
    assert site.run("ADD", stdin).error["code"] == code


def test_a_result_of_null_is_none(site: Site) -> None:
    """`prevResult: null` is no result."""
    stdin = site.config()[:-1] + ', "prevResult": null}'
    assert json.loads(site.run("ADD", stdin).out) == {"cniVersion": "1.0.0"}


# -- the hook --------------------------------------------------------------------------------------


def test_a_container_waits_for_its_pods_interfaces(site: Site) -> None:
    """It asks by sandbox and pod, again where an instance leaves, and goes on with the ok."""
    with site.driver(b"again\n", b"ok\n") as asked:
        ran = site.wait()
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    expected = f"netclaim/1 WAIT\ncontainer={SANDBOX}\nuid={POD_UID}\nlength=0\n\n"
    assert asked == [expected.encode()] * 2


def test_a_container_that_may_not_start(site: Site) -> None:
    """The driver's refusal is on standard error, where the runtime looks for it."""
    site.plans.note_attached(SANDBOX)
    with site.driver(b"error 11\nthe link is gone"):
        ran = site.wait()
    assert (ran.status, ran.err) == (1, "netclaim-attach: the link is gone\n")


def test_a_container_without_the_driver(site: Site) -> None:
    """With the driver away, gone or hung, what it wrote down counts."""
    assert "is not running on this node" in site.wait().err
    with site.driver(b""):
        assert site.wait(timeout="0.2").status == 1
    with site.hung_driver():
        ran = site.wait(timeout="0.2")
    assert (ran.status, "did not answer within 0 s" in ran.err) == (1, True)
    site.plans.note_attached(SANDBOX)
    assert site.wait().status == 0
    with site.driver(b""):
        assert site.wait(timeout="0.2").status == 0
    with site.hung_driver():
        assert site.wait(timeout="0.2").status == 0
    assert site.wait(sandbox=f"../attached/{SANDBOX}").status == 1


@pytest.mark.parametrize("timeout", ["", "soon", "0", "-1", "nan", "1e9"])
def test_a_hook_that_is_called_wrongly(site: Site, timeout: str) -> None:
    """A time that is none is said to be none."""
    ran = site.wait(timeout=timeout)
    assert (ran.status, "--timeout" in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("sandbox", "uid"),
    [
        ("io.kubernetes.cri.sandbox-id", "io.kubernetes.cri.sandbox-uid"),
        ("io.kubernetes.cri-o.SandboxID", "io.kubernetes.pod.uid"),
    ],
)
def test_a_container_that_names_its_claim(site: Site, sandbox: str, uid: str) -> None:
    """Whose it is stands in its state, as containerd and CRI-O write it."""
    state = json.dumps({"id": "c1", "annotations": {"x": "y", sandbox: SANDBOX, uid: POD_UID}})
    with site.driver(b"ok\n") as asked:
        assert site.wait_by_state(state).status == 0
    assert asked == [f"netclaim/1 WAIT\ncontainer={SANDBOX}\nuid={POD_UID}\nlength=0\n\n".encode()]
    assert "is not running on this node" in site.wait_by_state(state).err
    site.plans.note_attached(SANDBOX)
    assert site.wait_by_state(state).status == 0


OF_CONTAINERD = f'"io.kubernetes.cri.sandbox-id": "{SANDBOX}"'
OF_CRI_O = f'"io.kubernetes.cri-o.SandboxID": "{SANDBOX}"'
UID_OF_BOTH = f'"io.kubernetes.cri.sandbox-uid": "{POD_UID}", "io.kubernetes.pod.uid": "{POD_UID}"'


def test_a_state_that_says_the_same_twice_is_believed(site: Site) -> None:
    """A runtime that takes another's place writes the names of both."""
    state = f'{{"annotations": {{{OF_CRI_O}, {UID_OF_BOTH}, {OF_CONTAINERD}}}}}'
    with site.driver(b"ok\n") as asked:
        assert site.wait_by_state(state).status == 0
    assert asked == [f"netclaim/1 WAIT\ncontainer={SANDBOX}\nuid={POD_UID}\nlength=0\n\n".encode()]


@pytest.mark.parametrize(
    "annotations",
    [
        f'{OF_CRI_O}, "io.kubernetes.cri.sandbox-id": "another", {UID_OF_BOTH}',
        f'"io.kubernetes.cri.sandbox-id": "another", {OF_CRI_O}, {UID_OF_BOTH}',
        f'{OF_CONTAINERD}, "io.kubernetes.cri-o.SandboxID": "another", {UID_OF_BOTH}',
        f'{OF_CONTAINERD}, {UID_OF_BOTH}, "io.kubernetes.cri.sandbox-id": "another"',
        f'{OF_CONTAINERD}, {UID_OF_BOTH}, "io.kubernetes.cri.sandbox-i\\u0064": "another"',
        f'{OF_CONTAINERD}, {UID_OF_BOTH}, "io.kubernetes.cri-o.SandboxID": 7',
        f'{OF_CONTAINERD}, "io.kubernetes.cri.sandbox-uid": "u", "io.kubernetes.pod.uid": "v"',
        f"{OF_CONTAINERD}",
        f'{OF_CONTAINERD}, {UID_OF_BOTH}}}, "annotations": {{{OF_CONTAINERD}, {UID_OF_BOTH}',
    ],
)
def test_a_state_that_names_two_sandboxes_is_not_believed(site: Site, annotations: str) -> None:
    """A pod's own annotations may be in it, in whatever order: one is not the runtime's word."""
    site.plans.note_attached("another")
    site.plans.note_attached(SANDBOX)
    ran = site.wait_by_state(f'{{"id": "c1", "annotations": {{{annotations}}}}}')
    assert ran.status == 1
    assert "does not name one sandbox and its pod" in ran.err


@pytest.mark.parametrize("state", ["", "{", "[]", '{"annotations": {"x": 1}}', "null"])
def test_a_container_of_nobody(site: Site, state: str) -> None:
    """A state that names no sandbox is refused; after an uninstall nothing is."""
    assert "does not name one sandbox" in site.wait_by_state(state).err
    assert site.wait_by_state(state, socket="/nonexistent/attach.sock").status == 0


# -- with the real server --------------------------------------------------------------------------


async def test_program_and_server_understand_each_other(site: Site) -> None:
    """What the program was told arrives at the handler, and the handler's answer at the runtime."""
    requests: list[Request] = []
    answers: list[Answer] = [OK, Refusal("no such link", code=11), OK]
    site.plans.note_pod(POD_UID)

    async def handle(request: Request) -> Answer:
        requests.append(request)
        return answers[len(requests) - 1]

    async with AttachServer(site.socket, handle, grace_s=30):
        assert (await asyncio.to_thread(site.run, "ADD")).passed
        error = (await asyncio.to_thread(site.run, "ADD")).error
        assert (await asyncio.to_thread(site.wait)).status == 0
    assert (error["code"], error["msg"]) == (11, "no such link")
    assert {request.pod_uid for request in requests} == {POD_UID}
    assert {request.container_id for request in requests} == {SANDBOX}
    assert requests[0].pod_namespace == NAMESPACE
    assert RESULT.encode() in requests[0].stdin
