"""What tuning reads of its configuration, and which settings an owner lets it touch."""

from pathlib import Path

import pytest

from netclaim.cni import CniCall, Command, Endpoint
from netclaim.plugins.__main__ import read_config
from netclaim.plugins.engine.engine import read_call
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.tuning.sysctls import (
    check_allowed,
    read_sysctls,
    sysctl_path,
    sysctls_by_path,
)


def sysctls_of(config: str) -> dict[str, str]:
    """Read the settings of a configuration, as written."""
    read = read_config(config.encode())
    call = CniCall(Command.ADD, "tuning", (), read, Endpoint("c1", "/ns", "net1"))
    return read_sysctls(read_call(call))


def test_keys_keep_their_case() -> None:
    """The name of a setting is taken as written, though configuration keys are not."""
    config = '{"name": "n", "SysCtl": {"net.ipv4.conf.IFNAME.arp_filter": "1", "net.X": null}}'
    assert sysctls_of(config) == {"net.ipv4.conf.IFNAME.arp_filter": "1"}


def test_arguments_go_over_the_plugins_own_keys() -> None:
    """A setting in `args.cni` takes the place of the same one, and stands beside others."""
    config = """{"name": "n", "sysctl": {"net.a": "1", "net.b": "1"},
                 "args": {"cni": {"sysctl": {"net.b": "2", "net.c": "2"}}}}"""
    assert sysctls_of(config) == {"net.a": "1", "net.b": "2", "net.c": "2"}


def test_a_key_that_is_there_twice_is_refused() -> None:
    """Of two values for one setting none is chosen."""
    with pytest.raises(PluginError, match="duplicated"):
        sysctls_of('{"name": "n", "sysctl": {"net.a": "1", "net.a": "2"}}')


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("net.ipv4.conf.IFNAME.arp_filter", "net/ipv4/conf/eth0.5/arp_filter"),
        ("net/ipv4/conf/IFNAME/arp_filter", "net/ipv4/conf/eth0.5/arp_filter"),
        ("net.core.somaxconn", "net/core/somaxconn"),
        ("net.ipv4...conf", "net/ipv4/conf"),
        ("net/../kernel/msgmax", "net/kernel/msgmax"),
    ],
)
def test_a_key_names_a_file(key: str, path: str) -> None:
    """Dots and slashes separate alike; the link's own name keeps its dots."""
    assert sysctl_path(key, "eth0.5") == path


@pytest.mark.parametrize(
    "config",
    [
        '{"name": "n", "sysctl": {"net.a": "1"}, "SYSCTL": {"net.b": "1"}}',
        '{"name": "n", "sysctl": {"net.a": "1"}, "sysctl": {"net.b": "1"}}',
        '{"name": "n", "sysctl": {"net.a": "1"}, "\\u017fy\\u017fctl": {"net.a": "2"}}',
        '{"name": "n", "sysctl": null, "Sysctl": {"net.a": "1"}}',
        '{"name": "n", "args": {}, "ARGS": {"cni": {"sysctl": {"net.a": "1"}}}}',
        '{"name": "n", "args": {"cni": {}, "Cni": {"sysctl": {"net.a": "1"}}}}',
        '{"name": "n", "args": {"cni": {"sysctl": {}, "sysctL": {"net.a": "1"}}}}',
    ],
)
def test_two_places_for_the_same_settings_are_refused(config: str) -> None:
    """Whether they are spelled alike or not, and whichever of them is empty."""
    with pytest.raises(PluginError, match="are the same one"):
        sysctls_of(config)


def test_settings_are_found_where_go_finds_them() -> None:
    """A long s is an s; no plugin that is written in Go sees what we pass over."""
    assert sysctls_of('{"name": "n", "\\u017fysctl": {"net.a": "1"}}') == {"net.a": "1"}


@pytest.mark.parametrize(
    "args", ['{"sysctl": {"net.a": "1", "net.a": "2"}}', '{"SYSCTL": {"net.a": "1", "net.a": "1"}}']
)
def test_a_key_that_is_there_twice_in_the_arguments_is_refused(args: str) -> None:
    """Where the reference takes the last one."""
    with pytest.raises(PluginError, match="duplicated"):
        sysctls_of(f'{{"name": "n", "args": {{"cni": {args}}}}}')


@pytest.mark.parametrize(
    "settings", ['["abc"]', '[["net.a", "1"]]', '"net.a"', '{"net.a": 1}', "7"]
)
def test_settings_that_are_none_are_refused(settings: str) -> None:
    """A list that looks like pairs of keys and values is none either."""
    with pytest.raises(PluginError, match="sysctl"):
        sysctls_of(f'{{"name": "n", "sysctl": {settings}}}')


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("net.core.somaxconn", "net/core/somaxconn"),
        ("net.core.somaxconn", "net..core.somaxconn"),
        ("net.ipv4.conf.IFNAME.arp_filter", "net/ipv4/conf/net1/arp_filter"),
    ],
)
def test_two_keys_for_one_setting_are_refused(one: str, other: str) -> None:
    """Which of the values counts would be a matter of chance."""
    with pytest.raises(PluginError, match="the same setting") as caught:
        sysctls_by_path({one: "1", other: "2"}, "net1")
    assert one in str(caught.value)
    assert other in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        "kernel.msgmax",
        "net",
        "",
        "netx.core",
        "/etc/passwd",
        "net.\0",
        "../../etc/passwd",
        "net.core.somaxconn\n",
        "Net.core.somaxconn",
        "IFNAME.core.somaxconn",
        "net/",
    ],
)
def test_nothing_outside_the_network_is_named(key: str) -> None:
    """A setting that is not the network's is refused, however it is written."""
    with pytest.raises(PluginError, match="invalid net sysctl key"):
        sysctl_path(key, "net1")


@pytest.mark.parametrize("ifname", ["..", "."])
def test_the_links_name_does_not_lead_elsewhere(ifname: str) -> None:
    """No link has such a name, and no container may be told one; the path is safe without that."""
    for key in ("net/IFNAME/kernel/msgmax", "net.ipv4.IFNAME", "net/ipv4/conf/IFNAME/../x"):
        with pytest.raises(PluginError, match="invalid net sysctl key"):
            sysctl_path(key, ifname)


@pytest.mark.parametrize("ifname", ["eth0.5", "..a", "a..", ".a", "IFNAME", "net.x"])
def test_the_links_name_is_one_part_of_the_path(ifname: str) -> None:
    """Its dots are no separators, and it is put in once."""
    path = sysctl_path("net.ipv4.conf.IFNAME.arp_filter", ifname)
    assert path == f"net/ipv4/conf/{ifname}/arp_filter"


def test_an_owner_without_a_list_allows_everything(tmp_path: Path) -> None:
    """Where there is no list nothing is refused."""
    check_allowed(["net.core.somaxconn"], tmp_path / "none")


def test_an_owners_list_is_of_patterns(tmp_path: Path) -> None:
    """A key that some line's pattern is found in may be set, another may not."""
    allowlist = tmp_path / "allowlist.conf"
    allowlist.write_text("\n ^net\\.core\\. \narp_filter$\n")
    check_allowed(["net.core.somaxconn", "net.ipv4.conf.IFNAME.arp_filter"], allowlist)
    with pytest.raises(PluginError, match=r"net\.ipv4\.ip_forward"):
        check_allowed(["net.core.somaxconn", "net.ipv4.ip_forward"], allowlist)


def test_an_empty_list_allows_nothing(tmp_path: Path) -> None:
    """A list without lines refuses whatever is asked for."""
    allowlist = tmp_path / "allowlist.conf"
    allowlist.touch()
    check_allowed([], allowlist)
    with pytest.raises(PluginError, match="not allowed"):
        check_allowed(["net.core.somaxconn"], allowlist)


def test_a_list_that_makes_no_sense_allows_nothing(tmp_path: Path) -> None:
    """A pattern that is none is told, and refuses what might have been allowed."""
    allowlist = tmp_path / "allowlist.conf"
    allowlist.write_text("net\n(")
    with pytest.raises(PluginError, match=r"allowlist\.conf"):
        check_allowed(["net.core.somaxconn"], allowlist)
