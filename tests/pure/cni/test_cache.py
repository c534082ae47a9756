"""The files that remember what an ADD produced."""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from netclaim.cni import (
    DNS,
    AttachmentKey,
    Endpoint,
    Interface,
    IPConfig,
    Result,
    ResultCache,
    decode_network,
    parse_network,
)
from netclaim.cni.conflist import NETWORK_NAME_MAX
from netclaim.cni.exec import OUTPUT_MAX
from netclaim.errors import HostError

NETWORK = parse_network({"cniVersion": "1.0.0", "name": "net", "type": "macvlan"})
ENDPOINT = Endpoint(
    "c0ffee", "/run/netns/pod", "net1", (("IgnoreUnknown", "1"),), {"mac": "02:00:00:00:00:01"}
)
RESULT = Result((Interface("net1", sandbox="/run/netns/pod"),), (IPConfig("10.10.1.2/24"),))


def test_an_entry_is_written_as_libcni_writes_it(tmp_path: Path) -> None:
    """Name, place, keys and base64 are those of cniCacheV1; only root can read it."""
    ResultCache(tmp_path / "cache").save(NETWORK, ENDPOINT, RESULT)
    path = tmp_path / "cache" / "results" / "net-c0ffee-net1"
    entry = json.loads(path.read_bytes())
    assert json.loads(base64.b64decode(entry.pop("config"))) == NETWORK.to_dict()
    assert entry == {
        "kind": "cniCacheV1",
        "containerId": "c0ffee",
        "ifName": "net1",
        "networkName": "net",
        "netns": "/run/netns/pod",
        "cniArgs": [["IgnoreUnknown", "1"]],
        "capabilityArgs": {"mac": "02:00:00:00:00:01"},
        "result": RESULT.to_dict("1.0.0"),
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_entry_is_read_back_until_it_is_dropped(tmp_path: Path) -> None:
    """Load returns what was saved, again and again; after a drop there is nothing to drop."""
    cache = ResultCache(tmp_path)
    cache.save(NETWORK, ENDPOINT, Result())
    cache.save(NETWORK, ENDPOINT, RESULT)
    for _ in range(2):
        saved = cache.load("net", ENDPOINT.key)
        assert saved is not None
        assert saved.endpoint == ENDPOINT
        assert saved.result == RESULT
        assert decode_network(saved.config) == NETWORK
    for _ in range(2):
        cache.drop("net", ENDPOINT.key)
        assert cache.load("net", ENDPOINT.key) is None


def test_nothing_is_in_a_cache_that_does_not_exist(tmp_path: Path) -> None:
    """Reading makes no directories."""
    cache = ResultCache(tmp_path / "none")
    assert cache.load("net", ENDPOINT.key) is None
    assert list(cache.entries()) == []
    cache.drop("net", ENDPOINT.key)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b'{"kind":"cniCacheV1"}'])
def test_what_is_no_entry_is_dropped_aloud(tmp_path: Path, content: bytes) -> None:
    """A file that holds no entry is removed, logged, and counts as absent."""
    cache = ResultCache(tmp_path)
    cache.save(NETWORK, ENDPOINT, RESULT)
    path = tmp_path / "results" / "net-c0ffee-net1"
    path.write_bytes(content)
    with capture_logs() as logs:
        assert cache.load("net", ENDPOINT.key) is None
    assert [line["event"] for line in logs] == ["cni.cache_dropped"]
    assert not path.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "cniCacheV2"},
        {"containerId": ""},
        {"ifName": "a/b"},
        {"config": "?"},
        {"result": {"cniVersion": "9.9.9"}},
    ],
)
def test_an_entry_that_is_no_use_is_dropped_aloud(tmp_path: Path, change: dict[str, Any]) -> None:
    """So is an entry of which one part is wrong."""
    cache = ResultCache(tmp_path)
    cache.save(NETWORK, ENDPOINT, RESULT)
    path = tmp_path / "results" / "net-c0ffee-net1"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change))
    with capture_logs() as logs:
        assert cache.load("net", ENDPOINT.key) is None
    assert [line["event"] for line in logs] == ["cni.cache_dropped"]
    assert not path.exists()


def test_every_good_entry_is_listed(tmp_path: Path) -> None:
    """Listing skips drafts that a crash left, and drops what cannot be read."""
    cache = ResultCache(tmp_path)
    for ifname in ("net2", "net1"):
        cache.save(NETWORK, Endpoint("c0ffee", "", ifname), RESULT)
    (tmp_path / "results" / ".net-c0ffee-net1.draft").write_text("{")
    (tmp_path / "results" / "broken").write_text("{")
    with capture_logs() as logs:
        assert [entry.ifname for entry in cache.entries()] == ["net1", "net2"]
    assert len(logs) == 1


def test_an_entry_of_another_attachment_is_not_taken(tmp_path: Path) -> None:
    """Two attachments whose file names agree are still told apart."""
    cache = ResultCache(tmp_path)
    dashed = parse_network({"cniVersion": "1.0.0", "name": "a-b", "type": "x"})
    cache.save(dashed, Endpoint("c", "", "net1"), RESULT)
    assert cache.load("a", AttachmentKey("b-c", "net1")) is None
    assert cache.load("a-b", AttachmentKey("c", "net1")) is not None


def test_a_cache_that_cannot_be_written_is_the_owners_matter(tmp_path: Path) -> None:
    """A file where the directory should be keeps from saving, not from going on without."""
    (tmp_path / "cache").write_text("")
    cache = ResultCache(tmp_path / "cache")
    with pytest.raises(HostError):
        cache.save(NETWORK, ENDPOINT, RESULT)
    with capture_logs() as logs:
        assert cache.load("net", ENDPOINT.key) is None
        cache.drop("net", ENDPOINT.key)
        assert list(cache.entries()) == []
    assert [line["event"] for line in logs[:2]] == ["cni.cache_unreadable", "cni.cache_stuck"]


def test_a_result_of_the_oldest_versions_can_be_kept(tmp_path: Path) -> None:
    """A network without cniVersion has its result saved in the first form that holds it."""
    cache = ResultCache(tmp_path)
    cache.save(parse_network({"name": "net", "type": "x"}), ENDPOINT, RESULT)
    saved = cache.load("net", ENDPOINT.key)
    assert saved is not None
    assert saved.result == RESULT


def fifo(place: Path, _outside: Path) -> None:
    """Put a FIFO there, which would keep a reader waiting."""
    os.mkfifo(place)


def symlink(place: Path, outside: Path) -> None:
    """Put a symbolic link there to a file that is an entry."""
    place.symlink_to(outside)


def device(place: Path, _outside: Path) -> None:
    """Put a symbolic link there to a device without end."""
    place.symlink_to("/dev/zero")


@pytest.mark.parametrize("trap", [fifo, symlink, device])
@pytest.mark.parametrize("name", ["net-c0ffee-net1", ".net-c0ffee-net1.draft"])
def test_what_is_no_file_is_not_read_and_not_written_to(
    tmp_path: Path, trap: Callable[[Path, Path], None], name: str
) -> None:
    """It counts as absent, and a new entry takes its place; what it led to stays as it was."""
    elsewhere = ResultCache(tmp_path / "elsewhere")
    elsewhere.save(NETWORK, ENDPOINT, RESULT)
    outside = tmp_path / "elsewhere" / "results" / "net-c0ffee-net1"
    before = outside.read_bytes()
    (tmp_path / "results").mkdir()
    trap(tmp_path / "results" / name, outside)
    cache = ResultCache(tmp_path)
    assert cache.load("net", ENDPOINT.key) is None
    assert list(cache.entries()) == []
    cache.save(NETWORK, ENDPOINT, Result())
    saved = cache.load("net", ENDPOINT.key)
    assert saved is not None
    assert saved.result == Result()
    cache.drop("net", ENDPOINT.key)
    assert list((tmp_path / "results").iterdir()) == []
    assert outside.read_bytes() == before


def test_a_directory_that_is_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    """Entries are neither read nor dropped nor saved where it leads."""
    ResultCache(tmp_path / "elsewhere").save(NETWORK, ENDPOINT, RESULT)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "results").symlink_to(tmp_path / "elsewhere" / "results")
    cache = ResultCache(tmp_path / "cache")
    assert cache.load("net", ENDPOINT.key) is None
    assert list(cache.entries()) == []
    cache.drop("net", ENDPOINT.key)
    with pytest.raises(HostError, match="Not a directory"):
        cache.save(NETWORK, ENDPOINT, RESULT)
    assert ResultCache(tmp_path / "elsewhere").load("net", ENDPOINT.key) is not None


def test_an_entry_without_end_counts_as_absent(tmp_path: Path) -> None:
    """A file of a terabyte, of which nothing is on disk, is not read into memory."""
    cache = ResultCache(tmp_path)
    cache.save(NETWORK, ENDPOINT, RESULT)
    with (tmp_path / "results" / "net-c0ffee-net1").open("r+b") as file:
        file.truncate(1 << 40)
    assert cache.load("net", ENDPOINT.key) is None


def test_the_largest_result_of_a_plugin_is_read_back(tmp_path: Path) -> None:
    """What a program may print, the cache can hold; so it can for the longest names."""
    cache = ResultCache(tmp_path)
    network = parse_network({"cniVersion": "1.0.0", "name": "n" * NETWORK_NAME_MAX, "type": "x"})
    endpoint = Endpoint("c" * 64, "", "i" * 15)
    huge = Result(dns=DNS(options=("o" * OUTPUT_MAX,)))
    cache.save(network, endpoint, huge)
    saved = cache.load(network.name, endpoint.key)
    assert saved is not None
    assert saved.result == huge
