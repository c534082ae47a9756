"""Name servers from a file that may be any file."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from netclaim.cni import DNS, CniError, Plugins
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.shared.name_servers import (
    BYTES_MAX,
    NAME_SERVERS_MAX,
    OPTIONS_MAX,
    SEARCHES_MAX,
    read_resolv_conf,
)
from tests.support.plugin_calls import call_of, host_local, printed, server

RANGE = [{"subnet": "10.9.0.0/29"}]


@pytest.fixture
def own() -> Plugins:
    """The plugin in this process."""
    return server("host-local")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "/proc/self/fd", "/dev", "/"])
def test_what_is_no_file_is_refused(path: str) -> None:
    """A device without end, a terminal, a directory: none is read."""
    with pytest.raises(PluginError, match=r"resolvConf: .*(not a regular file|No such)"):
        read_resolv_conf(path)


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """Neither is one of which somebody would hand us name servers."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(PluginError, match="not a regular file"):
        read_resolv_conf(str(path))


def test_a_symbolic_link_to_a_file_is_followed(tmp_path: Path) -> None:
    """/etc/resolv.conf is one on many machines; what it leads to must be a file."""
    (tmp_path / "real").write_text("nameserver 192.0.2.1\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert read_resolv_conf(str(tmp_path / "link")).nameservers == ("192.0.2.1",)
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(PluginError, match="not a regular file"):
        read_resolv_conf(str(tmp_path / "zero"))


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """Up to the limit it is read."""
    path = tmp_path / "long"
    path.write_bytes(b"nameserver 192.0.2.1\n".ljust(BYTES_MAX, b"#"))
    assert read_resolv_conf(str(path)).nameservers == ("192.0.2.1",)
    path.write_bytes(b"nameserver 192.0.2.1\n".ljust(BYTES_MAX + 1, b"#"))
    with pytest.raises(PluginError, match=f"more than {BYTES_MAX} bytes"):
        read_resolv_conf(str(path))


def test_nothing_of_another_file_is_shown(tmp_path: Path) -> None:
    """Of a file that is no resolver's, nothing comes out, though lines begin as there."""
    path = tmp_path / "shadow"
    path.write_text(
        "root:$6$salt$hash:19000:0:99999:7:::\n"
        "nameserver hunter2\nnameserver 192.0.2.1;hunter2\nnameserver fe80::1%hunter2$\n"
        "domain p@ssword\ndomain -hunter2\ndomain a..b\n"
        f"search {'a' * 64} hunter2! user:secret $(id) {'a.' * 128}\n"
        "options key=value Secret AKIA/1234 ndots:x ndots:123456\n"
    )
    assert read_resolv_conf(str(path)) == DNS()


def test_what_a_resolver_uses_is_kept_as_it_is_written(tmp_path: Path) -> None:
    """Zones of link-local addresses, the root, underscores and last dots all occur."""
    path = tmp_path / "resolv.conf"
    path.write_text(
        "nameserver fe80::1%eth0.5\nnameserver 2001:DB8::1\ndomain Corp.Example.\n"
        "search . _tcp.example a-b.example\noptions ndots:5 edns0 trust-ad single-request-reopen\n"
    )
    assert read_resolv_conf(str(path)) == DNS(
        nameservers=("fe80::1%eth0.5", "2001:DB8::1"),
        domain="Corp.Example.",
        search=(".", "_tcp.example", "a-b.example"),
        options=("ndots:5", "edns0", "trust-ad", "single-request-reopen"),
    )


def test_no_more_is_kept_than_a_resolver_uses(tmp_path: Path) -> None:
    """The first ones of a long list count."""
    path = tmp_path / "resolv.conf"
    lines = [f"nameserver 192.0.2.{n}\nsearch s{n}\noptions o{n}\n" for n in range(100)]
    path.write_text("".join(lines))
    found = read_resolv_conf(str(path))
    assert found.nameservers == tuple(f"192.0.2.{n}" for n in range(NAME_SERVERS_MAX))
    assert found.search == tuple(f"s{n}" for n in range(SEARCHES_MAX))
    assert found.options == tuple(f"o{n}" for n in range(OPTIONS_MAX))


def test_a_file_that_is_no_text_is_refused_without_quoting_it(tmp_path: Path) -> None:
    """Neither the message nor what it is raised from has any of the content."""
    path = tmp_path / "key.der"
    path.write_bytes(b"nameserver 192.0.2.1\n\xfehunter2")
    with pytest.raises(PluginError, match="is not a text") as caught:
        read_resolv_conf(str(path))
    assert "fe" not in str(caught.value).removeprefix(f"resolvConf: {str(path)!r}")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("path", ["no\0path", "/nonexistent/resolv.conf", "x" * 5000])
def test_a_path_that_leads_nowhere_is_the_plugins_error(path: str) -> None:
    """Whatever a configuration says there."""
    with pytest.raises(PluginError, match="resolvConf"):
        read_resolv_conf(path)


async def test_an_add_with_a_bad_file_leases_nothing(tmp_path: Path, own: Plugins) -> None:
    """The file is read before an address is taken."""
    config = host_local(tmp_path, RANGE)
    config["ipam"]["resolvConf"] = "/dev/zero"
    with pytest.raises(CniError, match="not a regular file"):
        await own.run(call_of("ADD", config))
    assert not (tmp_path / "net").exists()


async def test_the_file_is_read_by_a_thread_of_the_plugins_own(
    tmp_path: Path, own: Plugins
) -> None:
    """Neither the event loop nor the threads of others wait for the disk."""
    path = tmp_path / "resolv.conf"
    path.write_text("nameserver 192.0.2.1\n")
    config = host_local(tmp_path, RANGE)
    config["ipam"]["resolvConf"] = str(path)
    everybodys = ThreadPoolExecutor(1)
    asyncio.get_running_loop().set_default_executor(everybodys)
    result = await printed(own, call_of("ADD", config))
    assert b'"nameservers":["192.0.2.1"]' in result
    assert not everybodys._threads
