"""Plugins that are programs: small real ones that behave, and that do not."""

import asyncio
import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from netclaim.cni import (
    CniCall,
    CniDeadlineError,
    CniError,
    CniErrorKind,
    Command,
    Endpoint,
    ExecPlugins,
    PluginMissingError,
)
from netclaim.cni.exec import AT_ONCE, MESSAGE_MAX, OUTPUT_MAX
from netclaim.errors import HostError

AMPLE_S = 60.0  # a deadline that a test which passes never reaches
SOON_S = 2.0  # one that only a plugin which never ends does reach

Install = Callable[[str], CniCall]


DEEP_ERROR = '{"code": 7, "more": ' + "[" * 3000 + "]" * 3000 + "}"


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Return a function that makes a plugin of a shell script, and an ADD for it."""

    def make(script: str) -> CniCall:
        program = tmp_path / "plugin"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        endpoint = Endpoint("c0ffee", "/run/netns/pod", "net1")
        return CniCall(Command.ADD, "plugin", (str(tmp_path),), {"name": "net"}, endpoint)

    return make


@pytest.fixture
def lifeline(tmp_path: Path) -> Path:
    """A pipe that a script opens for writing: it ends when all that hold it have ended."""
    path = tmp_path / "lifeline"
    os.mkfifo(path)
    return path


def plugins(deadline_s: float = AMPLE_S, at_once: int = AT_ONCE) -> ExecPlugins:
    """Exec plugins that inherit the environment of the tests."""
    return ExecPlugins(inherited=os.environ, deadline_s=deadline_s, at_once=at_once)


def open_files() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_plugin_reads_its_configuration_and_its_answer_is_returned(
    install: Install,
) -> None:
    """Standard input is the configuration; standard output is the answer, to the byte."""
    assert await plugins().output(install("echo before; cat; echo after")) == (
        b'before\n{"name":"net"}after\n'
    )


async def test_a_plugin_sees_cni_variables_and_what_it_inherits(install: Install) -> None:
    """The environment is the inherited one, with CNI's own variables as the call has them."""
    inherited = {"PATH": os.environ["PATH"], "HTTPS_PROXY": "p", "CNI_IFNAME": "ours"}
    engine = ExecPlugins(inherited=inherited, deadline_s=AMPLE_S)
    add = install('echo "$HTTPS_PROXY $CNI_COMMAND $CNI_IFNAME."')
    assert await engine.output(add) == b"p ADD net1.\n"
    status = CniCall(Command.STATUS, add.plugin, add.path, {})
    assert await engine.output(status) == b"p STATUS .\n"


async def test_a_call_adds_no_variable_and_no_argument_but_cnis(install: Install) -> None:
    """Whatever an endpoint and a configuration say, their words are values, each in its place."""
    add = install('echo "$#"; env')
    args = (("K8S_POD_NAME", "$(id) `id` LD_PRELOAD"), ("LD_PRELOAD", "/x --help"))
    endpoint = Endpoint("c0ffee", "/run/netns/LD_PRELOAD", "$HOME;id", args)
    config = {"name": "net", "env": {"LD_PRELOAD": "/x"}, "args": ["--help"]}
    call = CniCall(Command.ADD, add.plugin, add.path, config, endpoint)
    engine = ExecPlugins(inherited={"PATH": os.environ["PATH"]}, deadline_s=AMPLE_S)
    count, *variables = (await engine.output(call)).decode().splitlines()
    assert count == "0"
    of_the_shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert {line.partition("=")[0] for line in variables} - of_the_shell == {
        "PATH",
        "CNI_COMMAND",
        "CNI_CONTAINERID",
        "CNI_NETNS",
        "CNI_IFNAME",
        "CNI_ARGS",
        "CNI_PATH",
    }


@pytest.mark.parametrize("plugin", ["../plugin", "/bin/true", "", ".", "..", "a/b", "-v", "a\0"])
async def test_a_plugin_that_is_a_path_is_not_found(tmp_path: Path, plugin: str) -> None:
    """A type names a file in one of the directories, and cannot lead out of them."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "plugin").write_text("#!/bin/sh\n")
    (tmp_path / "plugin").chmod(0o755)
    with pytest.raises(PluginMissingError):
        await plugins().output(CniCall(Command.ADD, plugin, (str(inside),), {}))


async def test_a_large_configuration_that_is_not_read_is_no_error(install: Install) -> None:
    """A plugin may end without reading its input."""
    call = install("echo done")
    big = CniCall(call.command, call.plugin, call.path, {"name": " " * (1 << 20)}, call.endpoint)
    assert await plugins().output(big) == b"done\n"


async def test_an_error_on_stdout_is_the_plugins_own(install: Install) -> None:
    """Code, message and details come from the JSON that a failing plugin prints."""
    error = '{"cniVersion":"1.0.0","code":7,"msg":"bad mode","details":"no such mode"}'
    with pytest.raises(CniError) as caught:
        await plugins().output(install(f"echo noise >&2; echo {shlex.quote(error)}; exit 1"))
    assert (caught.value.code, caught.value.msg, caught.value.details) == (
        7,
        "bad mode",
        "no such mode",
    )
    assert caught.value.kind is CniErrorKind.CONFIGURATION
    assert str(caught.value) == "CNI plugin plugin ADD: bad mode; no such mode"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1, CniErrorKind.CONFIGURATION),
        (2, CniErrorKind.CONFIGURATION),
        (3, CniErrorKind.UNKNOWN_CONTAINER),
        (7, CniErrorKind.CONFIGURATION),
        (11, CniErrorKind.TRY_AGAIN),
        (50, CniErrorKind.NOT_READY),
        (100, CniErrorKind.OTHER),
        (999, CniErrorKind.OTHER),
    ],
)
def test_the_code_tells_who_can_help(code: int, kind: CniErrorKind) -> None:
    """Bad configuration, and what passes by waiting, are told apart by a field."""
    assert CniError("x", code=code, plugin="p", command="ADD").kind is kind


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo went wrong >&2; exit 3", "exit status 3: went wrong"),
        ("echo garbage; exit 1", "exit status 1: garbage"),
        ("echo garbage; echo reason >&2; exit 1", "exit status 1: reason"),
        ("printf '\\377'; exit 1", "exit status 1: \ufffd"),
        ("echo '[]'; exit 1", "exit status 1: []"),
        (f"echo why >&2; echo '{DEEP_ERROR}'; exit 1", "exit status 1: why"),
        ("exit 1", "exit status 1, no message"),
        ("kill -9 $$", "killed by signal 9, no message"),
    ],
)
async def test_a_failure_without_cni_error_says_what_there_is(
    install: Install, script: str, words: str
) -> None:
    """Without an error on stdout the words on stderr count, else those on stdout, else the exit."""
    with pytest.raises(CniError) as caught:
        await plugins().output(install(script))
    assert caught.value.msg == words
    assert caught.value.code == 0


async def test_a_plugin_that_prints_without_end_is_stopped(install: Install) -> None:
    """Output beyond the bound kills the plugin, long before its deadline."""
    with pytest.raises(CniError, match=f"more than {OUTPUT_MAX} bytes"):
        await plugins().output(install("yes"))


async def test_output_up_to_the_bound_is_taken(install: Install) -> None:
    """The bound itself is allowed; what stderr has beyond it is cut without harm."""
    script = f"head -c {OUTPUT_MAX} /dev/zero; head -c {2 * OUTPUT_MAX} /dev/zero >&2"
    assert len(await plugins().output(install(script))) == OUTPUT_MAX


async def test_of_many_words_the_last_are_kept(install: Install) -> None:
    """The reason stands at the end of what a plugin says, however much was before."""
    script = f"head -c {2 * OUTPUT_MAX} /dev/zero >&2; echo the reason >&2; exit 1"
    with pytest.raises(CniError, match=r"the reason\Z") as caught:
        await plugins().output(install(script))
    assert len(caught.value.msg) == MESSAGE_MAX + len("exit status 1: ")


async def test_a_message_is_no_longer_than_is_worth_showing(
    install: Install, tmp_path: Path
) -> None:
    """A plugin's own error is cut; it goes into objects of the API."""
    long = "x" * (OUTPUT_MAX // 4)
    (tmp_path / "error").write_text(f'{{"code": 7, "msg": "{long}", "details": "{long}"}}')
    with pytest.raises(CniError) as caught:
        await plugins().output(install(f"cat {tmp_path}/error; exit 1"))
    assert caught.value.code == 7
    assert (len(caught.value.msg), len(caught.value.details)) == (MESSAGE_MAX, MESSAGE_MAX)


async def test_a_program_waits_for_a_place(install: Install, lifeline: Path) -> None:
    """With one place, the second program begins when the first has ended, and not before."""
    engine = plugins(at_once=1)
    call = install(f"read line <{lifeline}; echo $line")
    async with asyncio.TaskGroup() as group:
        first, second = (group.create_task(engine.output(call)) for _ in range(2))
        with await asyncio.to_thread(lifeline.open, "w") as writer:  # one has it open for reading
            writer.write("one\n")
        assert await first == b"one\n"
        assert not second.done()
        with await asyncio.to_thread(lifeline.open, "w") as writer:
            writer.write("two\n")
    assert second.result() == b"two\n"


async def test_waiting_for_a_place_counts_against_the_deadline(
    install: Install, tmp_path: Path
) -> None:
    """One who never has a place is told so, and nothing of it has run."""
    call = install(f"touch {tmp_path}/ran")
    with pytest.raises(CniDeadlineError, match="too many other plugins are running"):
        await plugins(0.1, at_once=0).output(call)  # no program runs, so none needs time to begin
    assert not (tmp_path / "ran").exists()


async def test_a_cancelled_wait_for_a_place_takes_none(install: Install, lifeline: Path) -> None:
    """Nor does a program keep its place that is cancelled while it runs."""
    engine = plugins(at_once=1)
    call = install(f"read line <{lifeline}; echo $line")
    tasks = [asyncio.ensure_future(engine.output(call)) for _ in range(5)]
    for _ in range(20):
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)
    assert await engine.output(install("echo free")) == b"free\n"


async def test_a_plugin_is_killed_at_its_deadline_with_its_children(
    install: Install, lifeline: Path
) -> None:
    """When the deadline error is raised, nothing of the plugin's process group is left."""
    reader = os.open(lifeline, os.O_RDONLY | os.O_NONBLOCK)
    call = install(f"exec 3>{lifeline}; echo up >&3; sleep 600 & sleep 600 & wait")
    try:
        with pytest.raises(CniDeadlineError) as caught:
            await plugins(SOON_S).output(call)
        os.set_blocking(reader, True)
        assert os.read(reader, 100) == b"up\n"
        assert os.read(reader, 100) == b""  # all that held the pipe are gone, or this would hang
    finally:
        os.close(reader)
    assert (caught.value.plugin, caught.value.command) == ("plugin", "ADD")


async def test_a_cancelled_plugin_is_killed_with_its_children(
    install: Install, lifeline: Path
) -> None:
    """Cancelling a call ends the plugin before the cancellation is over."""
    call = install(f"exec 3>{lifeline}; echo up >&3; sleep 600 & wait")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(plugins().output(call))
        with await asyncio.to_thread(lifeline.open, "rb") as reader:
            assert await asyncio.to_thread(reader.readline) == b"up\n"
            task.cancel()
            await asyncio.wait([task])
            assert reader.read() == b""
    assert task.cancelled()


async def test_a_descendant_that_left_the_group_does_not_hold_us_up(
    install: Install, lifeline: Path
) -> None:
    """A daemon that keeps the plugin's output open costs the deadline, not more, and no pipes."""
    call = install(f"setsid sleep 600 & echo $! >{lifeline}")
    before = open_files()
    outcome, pid = await asyncio.gather(
        plugins(SOON_S).output(call), asyncio.to_thread(lifeline.read_text), return_exceptions=True
    )
    daemon = os.pidfd_open(int(str(pid)))
    try:
        assert isinstance(outcome, CniDeadlineError)
        assert open_files() == before + 1  # the one just opened
    finally:
        signal.pidfd_send_signal(daemon, signal.SIGKILL)  # fails, had it not survived
        os.close(daemon)


async def test_calls_leave_no_open_files(install: Install) -> None:
    """Plugins that succeed and that fail give back every pipe."""
    engine = plugins()
    good, before = install("cat"), open_files()
    await asyncio.gather(*(engine.output(good) for _ in range(8)))
    bad = install("exit 1")
    await asyncio.gather(*(engine.output(bad) for _ in range(8)), return_exceptions=True)
    assert open_files() == before


async def test_a_plugin_that_is_being_written_is_tried_again(
    install: Install, tmp_path: Path
) -> None:
    """A program that is open for writing cannot be run; it is asked again until it can."""
    call = install("echo whole")
    writer = (tmp_path / "plugin").open("ab")
    pauses = []

    async def finish_writing(seconds: float) -> None:
        pauses.append(seconds)
        writer.close()

    engine = ExecPlugins(inherited=os.environ, deadline_s=AMPLE_S, pause=finish_writing)
    assert await engine.output(call) == b"whole\n"
    assert len(pauses) == 1


async def test_a_missing_plugin_says_where_it_was_looked_for(tmp_path: Path) -> None:
    """The node's owner learns the plugin and every directory."""
    (tmp_path / "plugin").mkdir()
    call = CniCall(Command.DEL, "plugin", ("/nonexistent", str(tmp_path)), {})
    with pytest.raises(PluginMissingError) as caught:
        await plugins().output(call)
    assert caught.value.path == ("/nonexistent", str(tmp_path))
    assert "/nonexistent" in str(caught.value)
    assert isinstance(caught.value, HostError)


async def test_the_first_directory_of_the_path_wins(install: Install, tmp_path: Path) -> None:
    """A plugin that is in several directories is taken from the first that has it."""
    first = tmp_path / "first"
    first.mkdir()
    call = install("echo second")
    (first / "plugin").write_text("#!/bin/sh\necho first\n")
    (first / "plugin").chmod(0o755)
    path = ("/nonexistent", str(first), *call.path)
    assert await plugins().output(CniCall(Command.ADD, "plugin", path, {})) == b"first\n"


@pytest.mark.parametrize(("text", "mode"), [("#!/bin/sh\n", 0o644), ("#!/nonexistent\n", 0o755)])
async def test_a_plugin_that_cannot_be_run_is_the_owners_matter(
    install: Install, tmp_path: Path, text: str, mode: int
) -> None:
    """A file that is not executable, or lacks its interpreter, is named in a HostError."""
    call = install("")
    (tmp_path / "plugin").write_text(text)
    (tmp_path / "plugin").chmod(mode)
    with pytest.raises(HostError, match=str(tmp_path / "plugin")):
        await plugins().output(call)
