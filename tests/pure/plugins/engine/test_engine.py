"""The engine: what it lets through to a plugin, and what becomes of a plugin's errors."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.cni import CniCall, CniError, Command, Endpoint, PluginMissingError, Result
from netclaim.errors import HostError, RequestError
from netclaim.plugins import PLUGIN_TYPES, InProcess, Invocation, Plugin, in_process_plugins
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.shared.ipam import Ipam
from tests.support.plugin_calls import NoPrograms, call_of, host_local, printed, server


class Sampler(Plugin):
    """A plugin that does what it is told to, and remembers what it was asked."""

    def __init__(self, answer: Result | Exception) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def add(self, invocation: Invocation) -> Result:
        """Return the answer, or raise it."""
        self.asked.append("add")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def delete(self, invocation: Invocation) -> None:
        """Remember."""
        self.asked.append("delete")

    async def check(self, invocation: Invocation) -> None:
        """Remember."""
        self.asked.append("check")


SAMPLE: dict[str, Any] = {"type": "sample"}


@pytest.mark.parametrize(
    ("command", "version", "code"),
    [
        ("ADD", "0.5.0", 1),
        ("CHECK", "0.3.1", 1),
        ("STATUS", "1.0.0", 1),
        ("GC", "1.0.0", 1),
        ("CHECK", "0.4.0", None),
        ("STATUS", "1.1.0", None),
        ("GC", "1.1.0", None),
        ("DEL", "0.1.0", None),
    ],
)
async def test_a_command_has_to_be_of_the_version(
    command: str, version: str, code: int | None
) -> None:
    """CHECK came with 0.4.0, STATUS and GC with 1.1.0; versions nobody knows are refused."""
    served = InProcess(Sampler(Result()))
    call = call_of(command, SAMPLE, version=version)
    if code is None:
        assert await served.run(call) is None
    else:
        with pytest.raises(CniError) as caught:
            await served.run(call)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("error", "code", "details"),
    [
        (PluginError("no"), 999, ""),
        (PluginError("no", code=11, details="later"), 11, "later"),
        (HostError("no"), 999, ""),
        (CniError("no", code=7, details="why", plugin="inner", command="DEL"), 7, "why"),
    ],
)
async def test_whatever_goes_wrong_is_the_error_of_the_call(
    error: Exception, code: int, details: str
) -> None:
    """The plugin that was asked is named, with the code and words of what went wrong inside."""
    with pytest.raises(CniError) as caught:
        await InProcess(Sampler(error)).run(call_of("ADD", SAMPLE))
    said = caught.value
    assert (said.plugin, said.command, said.msg) == ("sample", "ADD", "no")
    assert (said.code, said.details) == (code, details)
    assert said.__cause__ is error


async def test_a_missing_program_stays_a_missing_program() -> None:
    """Who can help against it is the node's owner, and the chain knows that nothing was begun."""
    with pytest.raises(PluginMissingError):
        await InProcess(Sampler(PluginMissingError("dhcp", []))).run(call_of("ADD", SAMPLE))


async def test_a_mistake_of_ours_is_not_dressed_up() -> None:
    """What is not an error on purpose is not told as a plugin's error."""
    with pytest.raises(ZeroDivisionError):
        await InProcess(Sampler(ZeroDivisionError())).run(call_of("ADD", SAMPLE))


async def test_a_plugin_without_more_has_nothing_to_say_of_its_state() -> None:
    """STATUS and GC succeed where a plugin does not do anything about them."""
    sampler = Sampler(Result())
    for command in ("STATUS", "GC"):
        assert await InProcess(sampler).run(call_of(command, SAMPLE)) is None
    assert sampler.asked == []


async def test_the_oldest_results_have_one_address_of_each_family(tmp_path: Path) -> None:
    """In 0.2.0 addresses and their routes stand by family, and there are no interfaces."""
    config = host_local(tmp_path, [{"subnet": "10.9.0.0/24"}], [{"subnet": "2001:db8::/64"}])
    config["ipam"]["routes"] = [{"dst": "0.0.0.0/0"}, {"dst": "::/0", "gw": "2001:db8::1"}]
    output = await printed(server("host-local"), call_of("ADD", config, version="0.2.0"))
    assert msgspec.json.decode(output) == {
        "cniVersion": "0.2.0",
        "ip4": {"ip": "10.9.0.2/24", "gateway": "10.9.0.1", "routes": [{"dst": "0.0.0.0/0"}]},
        "ip6": {
            "ip": "2001:db8::2/64",
            "gateway": "2001:db8::1",
            "routes": [{"dst": "::/0", "gw": "2001:db8::1"}],
        },
    }


async def test_our_own_namespace_is_refused_before_the_plugin_is_asked() -> None:
    """Unless it is allowed; a namespace that is gone is the plugin's affair."""
    sampler = Sampler(Result())
    own = Endpoint("c0ffee", "/proc/self/ns/net", "net1")
    call = CniCall(Command.ADD, "sample", (), call_of("ADD", SAMPLE).config, own)
    with pytest.raises(CniError) as caught:
        await InProcess(sampler).run(call)
    assert (caught.value.code, sampler.asked) == (8, [])
    await InProcess(sampler, in_host_netns=True).run(call)
    gone = Endpoint("c0ffee", "/run/netns/none", "net1")
    await InProcess(sampler).run(CniCall(Command.DEL, "sample", (), call.config, gone))
    assert sampler.asked == ["add", "delete"]


async def test_an_address_is_released_when_what_it_was_leased_for_fails() -> None:
    """The first error is the one that is told, also when releasing fails as well."""
    sampler = Sampler(Result())
    ipam = Ipam({"sample": sampler}, NoPrograms())
    config = SAMPLE | {"name": "net", "ipam": {"type": "sample"}}
    call = call_of("ADD", config)
    invocation = Invocation(call, "1.1.0")
    with pytest.raises(PluginError, match="no address"):
        async with ipam.lease(invocation):
            raise AssertionError("there is no address to be had")
    assert sampler.asked == ["add", "delete"]


def test_types_can_be_named_to_stay_programs() -> None:
    """What is named is not served here; a type that never is, is a mistake."""
    served = in_process_plugins(NoPrograms(), exec_types=["macvlan", "static"])
    assert set(served) == PLUGIN_TYPES - {"macvlan", "static"}
    with pytest.raises(RequestError, match="macvln") as caught:
        in_process_plugins(NoPrograms(), exec_types=["macvln"])
    assert caught.value.path == ("exec-plugins",)


async def test_a_type_that_stays_a_program_is_one_for_ours_too() -> None:
    """Address management that is named to be a program is not done here by the back door."""
    served = in_process_plugins(NoPrograms(), exec_types=["static"])
    config = {"type": "macvlan", "ipam": {"type": "static"}}
    with pytest.raises(CniError, match="no program here"):
        await served["macvlan"].run(call_of("STATUS", config))
