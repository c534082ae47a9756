"""What was judged is what a plugin sees: every key of every plugin, in every spelling and nesting.

Each configuration is written as a tenant could write it: as an object, as a list, as JSON text,
with keys in other cases and letters. What the policy judges, what comes out of the journal, what a
plugin in process reads and what an executed one gets are compared, value by value; so is what
`netclaim check` says of it with what the driver says.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from netclaim.check.report import check_files
from netclaim.cni import Endpoint
from netclaim.cni.call import CniCall, Command, execution_config
from netclaim.errors import RequestError
from netclaim.manifests.finding import Severity
from netclaim.manifests.text.files import parse_file
from netclaim.model import ClaimRef, Plan
from netclaim.network.errors import ParametersError
from netclaim.network.judge.mistakes import config_faults
from netclaim.network.judge.request import permit
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.plan.guard import Guard
from netclaim.network.plan.interface_plan import InterfacePlan, read_plan
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing
from netclaim.network.policy.table import COMMON_KEYS, IPAM_TYPES, TYPES, KeyPolicy
from netclaim.network.request.parameters import InterfaceRequest, read_claim
from netclaim.network.settings import LinkSettings, LiveSettings
from netclaim.plugins.__main__ import read_config
from netclaim.plugins.engine.plugin import folded
from tests.support.network_parts import DRIVER, TYPED, claim_of, config_of, link_of

LINK: Final = link_of("eth1", 3)
NODE: Final = Snapshot((LINK,), addresses=(), uplinks=(), withheld={}, carriers={})
OWN: Final = Standing(Level.BASELINE, "team-a", link="eth1")
MARK: Final = "10.1.2.3/24"  # by which a value is known wherever it comes out

# Every way to write a key that Go takes for it: the long s and the Kelvin sign are letters too.
SPELLINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "as it is": lambda key: key,
    "lower": str.lower,
    "UPPER": str.upper,
    "sWAPPED": str.swapcase,
    "long s": lambda key: key.replace("s", "\u017f", 1),
    "Kelvin": lambda key: key.replace("k", "\u212a", 1),
}
WRAPPED: Final = ("one plugin", "a list", "one plugin as text", "a list as text")


def keys_of(rows: Mapping[str, KeyPolicy], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of all keys of a table, and of the keys in the objects that they hold."""
    for name, row in rows.items():
        yield (*path, name)
        for inner in row.inside:
            yield (*path, name, inner)


def all_keys() -> list[tuple[str, tuple[str, ...]]]:
    """Every key, with a plugin type that has it."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, kind in TYPES.items():
        found += [(name, path) for path in keys_of({**COMMON_KEYS, **kind.keys}, ())]
    for name, kind in IPAM_TYPES.items():
        found += [(f"macvlan+{name}", path) for path in keys_of(kind.keys, ("ipam",))]
    return found


KEYS: Final = all_keys()


def written(plugin: str, path: tuple[str, ...], spell: Any) -> dict[str, Any]:
    """A plugin's configuration with one key set, spelt in some way at every step."""
    plugin, _, ipam = plugin.partition("+")
    value: Any = MARK
    for key in reversed(path[1:] if ipam else path):
        value = {spell(key): value}
    config: dict[str, Any] = {"type": plugin, "name": "n", "cniVersion": "1.0.0"}
    if ipam:
        return {**config, spell("ipam"): {"type": ipam, **value}}
    for key in [k for k in config if k in path[:1]]:
        del config[key]
    return {**config, **value}


def wrapped(config: dict[str, Any], how: str) -> Any:
    """The configuration, as a claim may hold it."""
    if how.startswith("a list"):
        config = {"cniVersion": "1.0.0", "name": "n", "plugins": [config]}
    return json.dumps(config, ensure_ascii=False) if how.endswith("text") else config


def asked(config: Any) -> InterfaceRequest:
    """What a claim asks for."""
    parameters = {**TYPED, "ifName": "net1", "config": config}
    (request,) = read_claim(claim_of(config_of(parameters, "net")))
    return request


def through_journal(request: InterfaceRequest) -> InterfacePlan:
    """What attach reads of what prepare wrote."""
    interface = InterfacePlan(if_name="net1", config=request.network.to_dict(), link="eth1")
    plan = Plan(ClaimRef("u", "ns", "c"), request.device, network=interface.to_json())
    kept = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
    return read_plan(kept)


def seen_in_process(interface: InterfacePlan) -> list[dict[str, Any]]:
    """What plugins in process read."""
    network = interface.network
    return [folded(execution_config(network, plugin)) for plugin in network.plugins]


def seen_executed(interface: InterfacePlan) -> list[dict[str, Any]]:
    """What executed plugins read from their standard input, by a reader that takes any case."""
    network = interface.network
    endpoint = Endpoint("c1", "/run/netns/x", "net1")
    calls = [
        CniCall(Command.ADD, each.type, (), execution_config(network, each), endpoint)
        for each in network.plugins
    ]
    return [folded(read_config(call.standard_input())) for call in calls]


def judged(interface: InterfacePlan) -> list[dict[str, Any]]:
    """What the policy judges before ADD, with what every runtime sets."""
    network = interface.judged
    said = {"name": network.name, "cniVersion": network.version}
    return [folded({**plugin.config, **said}) for plugin in network.plugins]


@pytest.mark.parametrize("how", WRAPPED)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_was_judged_is_what_a_plugin_sees(spelling: str, how: str) -> None:
    """In each spelling a key is the one of the table, or it is refused; never is it overlooked."""
    spell = SPELLINGS[spelling]
    compared = 0
    for plugin, path in KEYS:
        config = wrapped(written(plugin, path, spell), how)
        try:
            request = asked(config)
        except RequestError:
            continue  # nothing that runs: a type, name or version that is none
        interface = through_journal(request)
        assert judged(interface) == seen_in_process(interface) == seen_executed(interface)
        assert interface.judged == request.network
        compared += 1
        plain = asked(wrapped(written(plugin, path, str), how))
        assert request.network == plain.network, (plugin, path)
        assert said_of(request) == said_of(plain), (plugin, path)
    assert compared > len(KEYS) / 2


def said_of(request: InterfaceRequest) -> str:
    """What the policy says against a request."""
    try:
        permit(request, OWN)
    except RequestError as error:
        return str(error)
    return ""


def said_by_driver(guard: Guard, config: Any) -> list[str]:
    """What the driver says against a configuration, on a link that its claim has to itself."""
    claim = claim_of(config_of({**TYPED, "config": config}, "net"))
    try:
        (request,) = read_claim(claim)
        guard.check(claim, request, [LINK], NODE, found=config_faults(request))
    except ParametersError as error:
        return sorted(fault.message for fault in error.faults)
    except RequestError as error:
        return [error.message]
    return []


def said_by_check(configs: Sequence[Any]) -> list[list[str]]:
    """The errors that `netclaim check` finds in claims with these configurations, of each."""
    lines: list[str] = []
    for number, config in enumerate(configs):
        opaque = {"driver": DRIVER, "parameters": {**TYPED, "config": config}}
        devices = {
            "requests": [{"name": "net", "exactly": {"deviceClassName": "any"}}],
            "config": [{"requests": ["net"], "opaque": opaque}],
        }
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": f"c{number}", "namespace": "default"},
            "spec": {"devices": devices},
        }
        lines += [json.dumps(claim, ensure_ascii=False), "---"]
    found: list[list[str]] = [[] for _ in configs]
    for each in check_files([parse_file("\n".join(lines).encode(), "x")]).findings:
        if each.severity is Severity.ERROR:
            found[each.line // 2].append(each.message)
    return [sorted(each) for each in found]


@pytest.mark.parametrize("how", ["one plugin", "a list as text"])  # a second for each
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_check_says_is_what_the_driver_says(spelling: str, how: str) -> None:
    """In the same words, of every key in every spelling; some are refused, and some pass."""
    guard = Guard(LiveSettings(LinkSettings(state_dir=Path("/nowhere"))))
    configs = [wrapped(written(*key, SPELLINGS[spelling]), how) for key in KEYS]
    said = [said_by_driver(guard, config) for config in configs]
    for key, by_driver, by_check in zip(KEYS, said, said_by_check(configs), strict=True):
        assert by_check == by_driver, key
    assert {bool(each) for each in said} == {True, False}


@pytest.mark.parametrize(("plugin", "path"), KEYS, ids=str)
def test_two_spellings_of_a_key_are_refused(plugin: str, path: tuple[str, ...]) -> None:
    """In one object, beside each other and wherever that stands, whichever comes last."""
    ways: list[Callable[[str], str]] = [str, str.upper, SPELLINGS["long s"]]
    for one, other in itertools.permutations(ways, 2):
        last = path[-1]
        if one(last) == other(last):
            continue
        config = written(plugin, path, str)
        holder = config
        for key in path[:-1]:
            holder = holder[key]
        holder.pop(last, None)
        holder |= {one(last): MARK, other(last): None}
        for how in WRAPPED:
            with pytest.raises(RequestError):
                asked(wrapped(config, how))


TWICE: Final = (
    '{"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "mode": "bridge", %s}',
    '{"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "macvlan", "mode": "x", %s}]}',
)


@pytest.mark.parametrize("text", TWICE)
@pytest.mark.parametrize("again", ['"mode": "passthru"', '"m\\u006fde": "passthru"', '"MODE": ""'])
def test_a_key_that_stands_twice_in_a_text_is_refused(text: str, again: str) -> None:
    """However it is escaped."""
    with pytest.raises(RequestError):
        asked(text % again)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("where", ["config", "plugins", "plugin", "ipam", "addresses", "address"])
def test_text_inside_text_is_never_decoded(where: str, depth: int) -> None:
    """JSON as text is read in one place, once; anywhere else it is a text or refused."""
    address: Any = {"ADDRESS": MARK}
    addresses: Any = [as_text(address, depth) if where == "address" else address]
    ipam: Any = {"type": "static", "addresses": as_text(addresses, depth * (where == "addresses"))}
    plugin: Any = {"type": "macvlan", "ipam": as_text(ipam, depth * (where == "ipam"))}
    plugins: Any = [as_text(plugin, depth * (where == "plugin"))]
    config: Any = {"cniVersion": "1.0.0", "name": "n"}
    config["plugins"] = as_text(plugins, depth * (where == "plugins"))
    if where == "config":
        config = as_text(config, depth + 1)
    with pytest.raises(RequestError):
        permit(asked(config), OWN)


def as_text(value: Any, depth: int) -> Any:
    """A value, so many times written as JSON."""
    for _ in range(depth):
        value = json.dumps(value)
    return value
