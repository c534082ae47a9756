"""The options of `netclaim driver`, its further words and an author's driver, as they are known."""

import argparse
import inspect
import re
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from netclaim.cli import driver, load_command, main
from netclaim.framework import Settings, add_flags
from netclaim.framework.settings import Setting, declared
from netclaim.network import LinkSettings
from tests.pure.doc_pages import same_names

# A value of each setting that is no path, and not its default.
OTHER = {
    "node_name": "other",
    "runtime_hook": "nri",
    "instance": "b",
    "nri_index": "51",
    "attach_timeout_s": "31.0",
    "http_address": "127.0.0.1:1",
    "health_socket": "/run/health.sock",
    "daemon_set": "a/b",
    "prepare_budget_s": "41.0",
    "log_format": "text",
    "log_level": "debug",
}

# Flags, the environment variable, the default. Manifests name these: only add to the list.
DRIVER = [
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
    ("--cni-bin-dir", "NETCLAIM_CNI_BIN_DIR", ""),
    ("--exec-plugins", "NETCLAIM_EXEC_PLUGINS", ""),
    ("--cni-timeout", "NETCLAIM_CNI_TIMEOUT", "25.0"),
    ("--pod-network", "NETCLAIM_POD_NETWORK", ""),
    ("--shared-link", "NETCLAIM_SHARED_LINK", ""),
    ("--generic-device --no-generic-device", "NETCLAIM_GENERIC_DEVICE", "True"),
    ("--policy", "NETCLAIM_POLICY", "baseline"),
    ("--policy-ceiling", "NETCLAIM_POLICY_CEILING", "privileged"),
    ("--claim-plugins", "NETCLAIM_CLAIM_PLUGINS", ""),
    ("--http-address --metrics-address", "NETCLAIM_HTTP_ADDRESS", "127.0.0.1:9178"),
    ("--health-socket", "NETCLAIM_HEALTH_SOCKET", ""),
    ("--daemon-set", "NETCLAIM_DAEMON_SET", ""),
    ("--prepare-budget", "NETCLAIM_PREPARE_BUDGET", "40.0"),
    ("--log-format", "NETCLAIM_LOG_FORMAT", "json"),
    ("--log-level", "NETCLAIM_LOG_LEVEL", "info"),
]
GC = [
    ("--driver-name", "NETCLAIM_DRIVER_NAME", "cni.dra.networking.x-k8s.io"),
    ("--run-dir", "NETCLAIM_RUN_DIR", "/run/netclaim"),
    ("--dry-run", None, "False"),
]
UNINSTALL = [
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
    ("--driver-name", "NETCLAIM_DRIVER_NAME", "cni.dra.networking.x-k8s.io"),
    ("--node-name", "NODE_NAME", ""),
    ("--kubeconfig", "NETCLAIM_KUBECONFIG", ""),
    ("--run-dir", "NETCLAIM_RUN_DIR", "/run/netclaim"),
    ("--daemon-set", "NETCLAIM_DAEMON_SET", ""),
]
# Of a driver that is built on the framework; only the node's name has a variable.
AUTHORS = [
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
    ("--attach-timeout-s", "30.0"),
    ("--cdi-dir", "/var/run/cdi"),
    ("--http-address", "127.0.0.1:9178"),
    ("--health-socket", ""),
    ("--daemon-set", ""),
    ("--prepare-budget-s", "40.0"),
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
    """A driver built on the framework has the flags and defaults that it always had."""
    parser = argparse.ArgumentParser(add_help=False)
    add_flags(parser)
    flags = {
        " ".join(each.option_strings): "" if each.default is None else str(each.default)
        for each in parser._actions
    }
    same_names(dict(AUTHORS), flags, place="AUTHORS in test_cli_driver_options.py")
    assert flags == dict(AUTHORS)


# What of LinkSettings is no option: it follows from another, or nobody has had to change it yet.
NO_OPTION = {"state_dir", "runtime_results", "pod_netns", "undo_s", "plugin_s"}


def test_the_drivers_own_settings_are_options() -> None:
    """Whatever LinkSettings has comes from an option of `netclaim driver`, or is known not to."""
    given = set(re.findall(r"^        (\w+)=", inspect.getsource(driver.command), re.MULTILINE))
    there = {each.name for each in fields(LinkSettings)}
    place = "what cli/driver.py gives LinkSettings, or to NO_OPTION"
    same_names((given & there) | NO_OPTION, there, place=place)


@pytest.mark.parametrize("setting", declared(), ids=lambda each: each.name)
def test_every_setting_reaches_the_driver(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said by an option, or by its variable, is what the driver is started with."""
    started: list[Settings] = []
    monkeypatch.setattr(driver, "serve", lambda _, settings: started.append(settings))
    monkeypatch.setattr(driver, "link_driver", lambda _: None)
    value = OTHER.get(setting.name, "/other")
    known = setting.kind in {Path, str} or setting.name in OTHER
    assert known, f"add a value of {setting.name} that is not its default to OTHER"
    for other in declared():
        monkeypatch.delenv(other.variable, raising=False)
    for flag in (setting.option, *setting.also):
        with pytest.raises(SystemExit):
            main(["driver", flag, value])
    monkeypatch.setenv(setting.variable, value)
    with pytest.raises(SystemExit):
        main(["driver"])
    assert len(started) == 2 + len(setting.also), f"{value} was refused; say another in OTHER"
    for settings in started:
        given = asdict(settings)
        assert str(given.pop(setting.name)) == value
        defaults = asdict(Settings(node_name=settings.node_name))
        del defaults[setting.name]
        assert given == defaults
