"""The options of `netclaim driver`, its further words and an author's driver, as they are known."""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from netclaim.cli import app, driving, main
from netclaim.cli.app import load_command
from netclaim.cli.driver_words import read_settings
from netclaim.framework import Settings, add_flags
from netclaim.framework.settings.declare import Setting, declared_in
from netclaim.framework.settings.sources import Followed, Sources
from netclaim.network.settings import LinkSettings, declared
from tests.support.doc_pages import same_names

# A value of each setting that is no path, and not its default; as a flag says it.
OTHER = {
    "kubeconfig": "/other",
    "name": "other.example.com",
    "cni_path": "/other",
    "exec_plugins": "bridge,macvlan",
    "add_s": "26.0",
    "pod_networks": "10.9.0.0/16",
    "attachments": "eth9=2",
    "link_bandwidth": "eth9=1G",
    "default_bandwidth": "eth9=1G",
    "protect_bandwidth": "false",
    "slots": "eth9=2",
    "link_filter": "true",
    "show_links": "true",
    "generic_device": "false",
    "network_devices": "true",
    "device_metadata": "false",
    "policy": "restricted",
    "policy_ceiling": "baseline",
    "claim_plugins": "sriov",
    "whole_uplinks": "eth7",
    "vfs": "eth7=8",
    "vfio": "true",
    "ignore_carrier": "eth7",
    "evict_after_s": "60",
    "flap_hold_s": "7",
    "preflight": "eth7",
    "node_name": "other",
    "runtime_hook": "nri",
    "instance": "b",
    "nri_index": "51",
    "attach_timeout_s": "31.0",
    "http_address": "127.0.0.1:1",
    "http_certificate": "/tls.crt",
    "http_key": "/tls.key",
    "health_socket": "/run/health.sock",
    "daemon_set": "a/b",
    "prepare_budget_s": "41.0",
    "log_format": "text",
    "log_level": "debug",
}

# Flags, the environment variable, the default. Manifests name these: only add to the list.
DRIVER = [
    ("--config", "NETCLAIM_CONFIG", ""),
    ("--driver-name", "NETCLAIM_DRIVER_NAME", "cni.dra.networking.x-k8s.io"),
    ("--node-name", "NODE_NAME", ""),
    ("--kubeconfig", "NETCLAIM_KUBECONFIG", ""),
    ("--state-dir", "NETCLAIM_STATE_DIR", "/var/lib/netclaim"),
    ("--lease-dir", "NETCLAIM_LEASE_DIR", "/var/lib/cni/netclaim"),
    ("--kubelet-dir", "NETCLAIM_KUBELET_DIR", "/var/lib/kubelet"),
    ("--runtime-hook", "NETCLAIM_RUNTIME_HOOK", "both"),
    ("--run-dir", "NETCLAIM_RUN_DIR", "/run/netclaim"),
    ("--cni-conf-dir", "NETCLAIM_CNI_CONF_DIR", "/etc/cni/net.d"),
    ("--cni-program-dir", "NETCLAIM_CNI_PROGRAM_DIR", "/opt/cni/bin"),
    ("--instance", "NETCLAIM_INSTANCE", ""),
    ("--runtime-socket", "NETCLAIM_RUNTIME_SOCKET", "/run/containerd/containerd.sock"),
    ("--attach-timeout", "NETCLAIM_ATTACH_TIMEOUT", "30.0"),
    ("--nri-socket", "NETCLAIM_NRI_SOCKET", "/var/run/nri/nri.sock"),
    ("--nri-index", "NETCLAIM_NRI_INDEX", "50"),
    ("--cdi-dir", "NETCLAIM_CDI_DIR", "/var/run/cdi"),
    ("--cni-bin-dir", "NETCLAIM_CNI_BIN_DIR", "['/opt/cni/bin']"),
    ("--exec-plugins", "NETCLAIM_EXEC_PLUGINS", ""),
    ("--cni-timeout", "NETCLAIM_CNI_TIMEOUT", "25.0"),
    ("--pod-network", "NETCLAIM_POD_NETWORK", ""),
    ("--attachments", "NETCLAIM_ATTACHMENTS", "['32']"),
    ("--link-bandwidth", "NETCLAIM_LINK_BANDWIDTH", ""),
    ("--default-bandwidth", "NETCLAIM_DEFAULT_BANDWIDTH", ""),
    (
        "--protect-bandwidth --no-protect-bandwidth",
        "NETCLAIM_PROTECT_BANDWIDTH",
        "True",
    ),
    ("--slots", "NETCLAIM_SLOTS", "['8']"),
    ("--link-filter", "NETCLAIM_LINK_FILTER", ""),
    ("--show-links", "NETCLAIM_SHOW_LINKS", ""),
    ("--generic-device --no-generic-device", "NETCLAIM_GENERIC_DEVICE", "True"),
    ("--network-devices --no-network-devices", "NETCLAIM_NETWORK_DEVICES", "False"),
    ("--device-metadata --no-device-metadata", "NETCLAIM_DEVICE_METADATA", "True"),
    ("--policy", "NETCLAIM_POLICY", "baseline"),
    ("--policy-ceiling", "NETCLAIM_POLICY_CEILING", "privileged"),
    ("--claim-plugins", "NETCLAIM_CLAIM_PLUGINS", ""),
    ("--whole-uplinks", "NETCLAIM_WHOLE_UPLINKS", ""),
    ("--vfs", "NETCLAIM_VFS", ""),
    ("--vfio --no-vfio", "NETCLAIM_VFIO", "False"),
    ("--ignore-carrier", "NETCLAIM_IGNORE_CARRIER", ""),
    ("--evict-after", "NETCLAIM_EVICT_AFTER", "0.0"),
    ("--flap-hold", "NETCLAIM_FLAP_HOLD", "10.0"),
    ("--preflight", "NETCLAIM_PREFLIGHT", ""),
    ("--http-address --metrics-address", "NETCLAIM_HTTP_ADDRESS", "127.0.0.1:9178"),
    ("--http-certificate", "NETCLAIM_HTTP_CERTIFICATE", ""),
    ("--http-key", "NETCLAIM_HTTP_KEY", ""),
    ("--health-socket", "NETCLAIM_HEALTH_SOCKET", ""),
    ("--daemon-set", "NETCLAIM_DAEMON_SET", ""),
    ("--prepare-budget", "NETCLAIM_PREPARE_BUDGET", "40.0"),
    ("--log-format", "NETCLAIM_LOG_FORMAT", "json"),
    ("--log-level", "NETCLAIM_LOG_LEVEL", "info"),
]
GC = [
    ("--config", "NETCLAIM_CONFIG", ""),
    ("--driver-name", "NETCLAIM_DRIVER_NAME", "cni.dra.networking.x-k8s.io"),
    ("--run-dir", "NETCLAIM_RUN_DIR", "/run/netclaim"),
    ("--dry-run", None, "False"),
]
UNINSTALL = [
    ("--config", "NETCLAIM_CONFIG", ""),
    ("--driver-name", "NETCLAIM_DRIVER_NAME", "cni.dra.networking.x-k8s.io"),
    ("--run-dir", "NETCLAIM_RUN_DIR", "/run/netclaim"),
    ("--state-dir", "NETCLAIM_STATE_DIR", "/var/lib/netclaim"),
    ("--kubelet-dir", "NETCLAIM_KUBELET_DIR", "/var/lib/kubelet"),
    ("--cni-conf-dir", "NETCLAIM_CNI_CONF_DIR", "/etc/cni/net.d"),
    ("--cni-program-dir", "NETCLAIM_CNI_PROGRAM_DIR", "/opt/cni/bin"),
    ("--cdi-dir", "NETCLAIM_CDI_DIR", "/var/run/cdi"),
    ("--lease-dir", "NETCLAIM_LEASE_DIR", "/var/lib/cni/netclaim"),
]
RETIRE = [
    ("--config", "NETCLAIM_CONFIG", ""),
    ("--driver-name", "NETCLAIM_DRIVER_NAME", "cni.dra.networking.x-k8s.io"),
    ("--node-name", "NODE_NAME", ""),
    ("--kubeconfig", "NETCLAIM_KUBECONFIG", ""),
    ("--run-dir", "NETCLAIM_RUN_DIR", "/run/netclaim"),
    ("--instance", "NETCLAIM_INSTANCE", ""),
    ("--daemon-set", "NETCLAIM_DAEMON_SET", ""),
]
# Of a driver that is built on the framework.
AUTHORS = [
    ("--config", ""),
    ("--node-name", ""),
    ("--kubeconfig", ""),
    ("--state-dir", "/var/lib/netclaim"),
    ("--kubelet-dir", "/var/lib/kubelet"),
    ("--runtime-hook", "both"),
    ("--run-dir", "/run/netclaim"),
    ("--cni-conf-dir", "/etc/cni/net.d"),
    ("--cni-program-dir", "/opt/cni/bin"),
    ("--instance", ""),
    ("--nri-socket", "/var/run/nri/nri.sock"),
    ("--nri-index", "50"),
    ("--runtime-socket", "/run/containerd/containerd.sock"),
    ("--attach-timeout", "30.0"),
    ("--cdi-dir", "/var/run/cdi"),
    ("--http-address", "127.0.0.1:9178"),
    ("--http-certificate", ""),
    ("--http-key", ""),
    ("--health-socket", ""),
    ("--daemon-set", ""),
    ("--prepare-budget", "40.0"),
    ("--log-format", "json"),
    ("--log-level", "info"),
]


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("driver", DRIVER),
        ("driver_gc", GC),
        ("driver_retire", RETIRE),
        ("driver_uninstall", UNINSTALL),
    ],
)
def test_options(module: str, expected: list[tuple[str, str | None, str]]) -> None:
    """Each option has the flags, the variable and the default that it always had."""
    found = [
        (
            " ".join((*option.opts, *option.secondary_opts)),
            option.envvar,
            "" if option.default is None else str(option.default),
        )
        for option in load_command(module).params
    ]
    place = f"the options of cli/{module}.py in test_cli_driver_options.py"
    same_names((flags for flags, *_ in expected), (flags for flags, *_ in found), place=place)
    assert sorted(found) == sorted(expected)


def test_an_authors_flags() -> None:
    """A driver built on the framework has the flags and defaults of `netclaim driver`."""
    parser = argparse.ArgumentParser(add_help=False)
    add_flags(parser)
    flags = {
        " ".join(each.option_strings): "" if each.default is None else str(each.default)
        for each in parser._actions
    }
    same_names(dict(AUTHORS), flags, place="AUTHORS in test_cli_driver_options.py")
    assert flags == dict(AUTHORS)


# What of LinkSettings is no setting: it follows from another, or nobody has had to change it yet.
NO_SETTING = {"state_dir", "runtime_results", "pod_netns", "undo_s", "plugin_s"}


def test_the_drivers_own_settings_are_declared() -> None:
    """Whatever LinkSettings has is a setting, or is known not to be one."""
    given = {each.name for each in declared_in(LinkSettings)}
    there = {each.name for each in fields(LinkSettings)}
    place = "give it metadata=about(...), or add it to NO_SETTING"
    same_names(given | NO_SETTING, there, place=place)


def test_names_are_unique() -> None:
    """No two settings share a field's name, an option, a key or a variable."""
    for names in zip(*((s.name, s.option, s.key, s.variable) for s in declared()), strict=True):
        assert len(set(names)) == len(names)


def words(setting: Setting, value: str) -> list[str]:
    """A setting as its flag says it."""
    if setting.form == "switch":
        return [setting.option if value == "true" else f"--no-{setting.option.removeprefix('--')}"]
    return [setting.option, value]


def in_file(setting: Setting, value: str) -> str:
    """A setting as the file says it."""
    said: Any = value
    match setting.form:
        case "switch" | "seconds":
            said = json.loads(value)
        case "repeated" | "commas":
            said = value.split(",")
    return json.dumps({setting.key: said})


def flat(own: LinkSettings, every: Settings) -> dict[str, Any]:
    """What a driver was started with, by the names of the settings."""
    owners: dict[str, Any] = {each.name: own for each in declared_in(LinkSettings)}
    owners |= {each.name: every for each in declared_in(Settings)}
    return {name: getattr(owner, name) for name, owner in owners.items()}


@pytest.mark.parametrize("setting", declared(), ids=lambda each: each.name)
def test_every_setting_reaches_the_driver(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What an option says, its variable, or the file, is what the driver is started with."""
    started: list[dict[str, Any]] = []
    monkeypatch.setattr(driving, "link_driver", lambda own: own)
    monkeypatch.setattr(driving, "serve", lambda own, every, _: started.append(flat(own, every)))
    known = setting.form == "path" or setting.name in OTHER
    assert known, f"add a value of {setting.name} that is not its default to OTHER"
    value = OTHER.get(setting.name, "/other")
    for other in declared():
        monkeypatch.delenv(other.variable, raising=False)
    file = tmp_path / "config.yaml"
    file.write_text(in_file(setting, value))
    said = [words(setting, value), *([flag, value] for flag in setting.also)]
    if not setting.never_in_file:
        said.append(["--config", str(file)])
    for arguments in said:
        with pytest.raises(SystemExit):
            main(["driver", *arguments])
    monkeypatch.setenv(setting.variable, value)
    with pytest.raises(SystemExit):
        main(["driver"])
    assert len(started) == len(said) + 1, f"{value} was refused; say another in OTHER"
    defaults = Sources(declared(), {}).read()
    for values in started:
        changed = [each.name for each in declared() if values[each.name] != defaults[each.name]]
        assert changed == [setting.name]
        assert values == started[0]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Followed | None]]:
    """Return what is read of a command line without typer, and by typer."""
    for other in declared():
        monkeypatch.delenv(other.variable, raising=False)

    def read(*given: str) -> list[Followed | None]:
        found = [read_settings(given, os.environ)]
        monkeypatch.setattr(driving, "drive", found.append)
        with pytest.raises(SystemExit):
            app.run(["driver", *given], "netclaim")
        return found

    return read


def assert_same(found: Sequence[Followed | None]) -> None:
    """See that both readers read something, and the same."""
    quick, slow = found
    assert quick is not None
    assert slow is not None
    assert quick.sources.given == slow.sources.given
    assert quick.sources.path == slow.sources.path
    assert quick.started.values == slow.started.values


@pytest.mark.parametrize("setting", declared(), ids=lambda each: each.name)
def test_typer_reads_the_same(
    setting: Setting, both: Callable[..., list[Followed | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver reads its options and variables without typer, which would read the same."""
    value = OTHER.get(setting.name, "/other")
    said = [words(setting, value), *([flag, value] for flag in setting.also)]
    if setting.form != "switch":
        said += [[f"{setting.option}={value}"], [setting.option, value, setting.option, value]]
    else:
        said += [[setting.option], [setting.option, *words(setting, value)]]
    for arguments in said:
        assert_same(both(*arguments))
    several = f"{value} {value}" if setting.form == "repeated" else value
    monkeypatch.setenv(setting.variable, several)
    for arguments in ([], words(setting, value)):
        assert_same(both(*arguments))


def test_the_file_is_read_the_same(
    both: Callable[..., list[Followed | None]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file is named by its option or by its variable; an empty variable names none."""
    file = tmp_path / "config.yaml"
    file.write_text('{"attachTimeout": 31}')
    for variable, arguments in (
        ("", ["--config", str(file)]),
        ("/nowhere", [f"--config={file}"]),
        (str(file), []),
        ("", []),
    ):
        monkeypatch.setenv("NETCLAIM_CONFIG", variable)
        found = both(*arguments)
        assert_same(found)
        assert found[0] is not None
        assert found[0].sources.path == (file if arguments or variable else None)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["gc", "--help"],
        ["--no-such-option"],
        ["--attach-timeout", "soon"],
        ["--attach-timeout"],
        ["--node-name", "--kubeconfig"],
        ["--runtime-hook=never"],
        ["--generic-device=false"],
        ["--shared-link=eth1"],
        ["more"],
    ],
)
def test_typer_explains_the_rest(arguments: list[str]) -> None:
    """Help, further words and mistakes are left to typer."""
    assert read_settings(arguments, {}) is None


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("NETCLAIM_ATTACH_TIMEOUT", "soon"),
        ("NETCLAIM_RUNTIME_HOOK", "never"),
        ("NETCLAIM_GENERIC_DEVICE", "perhaps"),
        ("NETCLAIM_SHARED_LINK", "eth1"),
    ],
)
def test_typer_explains_variables(variable: str, text: str) -> None:
    """Mistakes in variables, and variables of settings that were removed, are typer's as well."""
    assert read_settings([], {variable: text}) is None
