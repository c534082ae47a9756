"""What a plugin prints, a user configures and a disk gives back may be anything at all."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any, Final

import msgspec
import pytest

from netclaim.cni import DNS, Interface, IPConfig, Result, Route, decode_network
from netclaim.cni.cache import CachedAttachment, read_entry
from netclaim.cni.conflist import NetworkList
from netclaim.cni.errors import BadResultError
from netclaim.cni.result import read_result
from netclaim.cni.version import LATEST, SPEC_VERSIONS
from netclaim.errors import RequestError
from tests.support.fuzzing import try_all

RESULT: Final = Result(
    interfaces=(Interface("eth1"), Interface("net1", "02:00:00:00:00:01", 1500, "/run/netns/a")),
    ips=(IPConfig("10.10.1.2/24", "10.10.1.1", 1), IPConfig("2001:db8::2/64")),
    routes=(Route("0.0.0.0/0", "10.10.1.1", mtu=1400, table=7), Route("2001:db8:1::/48")),
    dns=DNS(("10.10.1.1",), "example.org", ("example.org",), ("ndots:1",)),
)
OLD_RESULT: Final = {
    "cniVersion": "0.2.0",
    "ip4": {"ip": "10.10.1.2/24", "gateway": "10.10.1.1", "routes": [{"dst": "0.0.0.0/0"}]},
    "ip6": {"ip": "2001:db8::2/64"},
    "dns": {"nameservers": ["10.10.1.1"]},
}
RESULTS: Final = (
    *(msgspec.json.encode(RESULT.to_dict(version)) for version in ("0.4.0", "1.0.0", LATEST)),
    msgspec.json.encode(OLD_RESULT),
)
NETWORKS: Final = (
    msgspec.json.encode(
        {
            "cniVersion": "1.0.0",
            "name": "net",
            "disableCheck": True,
            "plugins": [
                {
                    "type": "macvlan",
                    "master": "eth1",
                    "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]},
                },
                {"type": "tuning", "capabilities": {"mac": True}, "sysctl": {"a": "1"}},
            ],
        }
    ),
    msgspec.json.encode({"cniVersions": list(SPEC_VERSIONS), "name": "net", "type": "ptp"}),
)
# What JSON is made of, and what our readers look for in it.
WORDS: Final = (
    b"null", b"true", b"[", b"]", b"{", b"}", b'"', b":", b",", b"[[", b'{"a":', b"[]", b"{}",
    b'""', b"-1", b"1e400", b"1e-400", b"9" * 400, b"18446744073709551616", b"0.1", b'"1"',
    b"\\ud800", b"\\u0000", b"\\ud83d\\ude00", b"\xff", b"\xc3\x28", b"\xed\xa0\x80",
    b'"cniVersion":"0.1.0",', b'"cniVersion":1,', b'"ip4":[],', b'"routes":null,', b'"ipam":0,',
    b"/33", b"/129", b"%eth0", b"::ffff:1.2.3.4", b"\xd9\xa1", b"[" * 300, b'{"a":' * 300,
)  # fmt: skip


def test_results() -> None:
    """What a plugin prints is a result, or BadResultError; a result can be kept and shown."""

    def decode(data: bytes) -> object:
        result = read_result(data, LATEST)
        kept = read_result(msgspec.json.encode(result.to_dict(LATEST)), LATEST)
        assert kept == result
        return result.network_data("net1")

    try_all(decode, RESULTS, raises=BadResultError, words=WORDS)


def test_networks() -> None:
    """What a user configures is a network, or RequestError; a network can be kept."""

    def decode(data: bytes) -> NetworkList:
        network = decode_network(data)
        assert decode_network(network.to_json()) == network
        return network

    try_all(decode, NETWORKS, raises=RequestError, words=WORDS)


def test_cache_entries() -> None:
    """What a file of the cache holds is an entry that is of use, or BadResultError."""
    entry = msgspec.json.encode(
        CachedAttachment(
            kind="cniCacheV1",
            container_id="c0ffee",
            config=NETWORKS[1],
            ifname="net1",
            network_name="net",
            netns="/run/netns/pod",
            args=(("IgnoreUnknown", "1"),),
            capability_args={"mac": "02:00:00:00:00:01"},
            raw_result=RESULT.to_dict(LATEST),
        )
    )

    def decode(data: bytes) -> object:
        read = read_entry(data)
        return read.endpoint.key, read.result

    try_all(decode, (entry,), raises=BadResultError, words=WORDS)


NESTING: Final[dict[int, Callable[[], AbstractContextManager[Any]]]] = {
    100: nullcontext,
    600: partial(suppress, BadResultError),  # too deep for Python 3.11, but not for 3.13
    5000: partial(pytest.raises, BadResultError),  # too deep for all of them
}


@pytest.mark.parametrize("depth", NESTING)
@pytest.mark.parametrize("inner", ["[", '{"a":'])
def test_nesting(depth: int, inner: str) -> None:
    """However deep a result is nested, it is read or refused; so is an entry that holds it."""
    outer = {"[": "]", '{"a":': "}"}[inner]
    result = f'{{"x": {inner * depth}{"1" if outer == "}" else ""}{outer * depth}}}'
    entry = (
        '{"kind": "cniCacheV1", "containerId": "c", "config": "", "ifName": "net1",'
        f' "networkName": "net", "result": {result}}}'
    )
    with NESTING[depth]():
        assert read_result(result.encode(), LATEST) == Result()
    with NESTING[depth]():
        assert read_entry(entry.encode()).result == Result()
