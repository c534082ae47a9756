"""`python -m netclaim.plugins TYPE` beside the reference program of that type."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import ExecPlugins
from tests.reference.site.plugin_cases import POOL, case
from tests.reference.site.plugin_site import AMPLE_S, Case, Site, both, play, site_of
from tests.reference.site.plugin_state import differences

pytestmark = pytest.mark.reference

CONFIG = {"cniVersion": "1.1.0", "name": "net", "type": "macvlan", "master": "eth1"}
OURS = (sys.executable, "-m", "netclaim.plugins")
ENVIRONMENT = {
    "CNI_COMMAND": "ADD",
    "CNI_CONTAINERID": "c0ffee",
    "CNI_NETNS": "/run/netns/none",
    "CNI_IFNAME": "net1",
    "CNI_PATH": "/nowhere",
}


def answers(
    cni_plugins: Path,
    changed: dict[str, str | None],
    config: Any = CONFIG,
    *,
    plugin: str = "macvlan",
) -> list[tuple[int, Any]]:
    """Return the exit status, and the error's code, of the reference program and of ours."""
    told = {name: value for name, value in (ENVIRONMENT | changed).items() if value is not None}
    written = config if isinstance(config, str) else json.dumps(config)
    found = []
    for program in ([str(cni_plugins / plugin)], [*OURS, plugin]):
        ended = subprocess.run(
            program,
            input=written,
            env={**os.environ, **told},
            capture_output=True,
            text=True,
            check=False,
        )
        code = json.loads(ended.stdout)["code"] if ended.returncode else ended.stdout
        found.append((ended.returncode, code))
    return found


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"CNI_COMMAND": "DANCE"}, 4),
        ({"CNI_CONTAINERID": None}, 4),
        ({"CNI_CONTAINERID": "/etc"}, 4),
        ({"CNI_NETNS": None}, 4),
        ({"CNI_IFNAME": "a name"}, 4),
        ({"CNI_IFNAME": "a-name-that-is-too-long"}, 4),
        ({"CNI_PATH": None}, 4),
        ({"CNI_ARGS": "COLOUR"}, 999),
        ({"CNI_NETNS": "/run/netns/none"}, 999),
        ({"CNI_COMMAND": "STATUS", "CNI_PATH": None}, 4),
    ],
)
def test_an_environment_that_makes_no_sense_has_its_code(
    cni_plugins: Path, changed: dict[str, str | None], code: int
) -> None:
    """Both exit with status 1 and the same code on standard output."""
    assert answers(cni_plugins, changed) == [(1, code)] * 2


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ("nonsense", 6),
        ("[]", 6),
        (CONFIG | {"name": 7}, 6),
        (CONFIG | {"name": ""}, 7),
        (CONFIG | {"name": "a name"}, 7),
        (CONFIG | {"cniVersion": "9.9.9"}, 1),
        (CONFIG | {"cniVersion": 1}, 6),
    ],
)
def test_a_configuration_that_makes_no_sense_has_its_code(
    cni_plugins: Path, config: Any, code: int
) -> None:
    """Both exit with status 1 and the same code on standard output."""
    assert answers(cni_plugins, {}, config) == [(1, code)] * 2


@pytest.mark.parametrize("plugin", ["macvlan", "bandwidth", "sbr", "vrf"])
def test_both_speak_the_same_versions(plugin: str, cni_plugins: Path) -> None:
    """VERSION needs nothing but the command; some plugins came later than CNI's first versions."""
    asked: dict[str, str | None] = {"CNI_COMMAND": "VERSION", "CNI_PATH": None}
    reference, ours = answers(cni_plugins, asked, "", plugin=plugin)
    assert json.loads(ours[1]) == json.loads(reference[1])


def test_without_a_command_it_says_what_it_is(cni_plugins: Path) -> None:
    """Started by hand, both print to standard error only, and succeed."""
    assert answers(cni_plugins, {"CNI_COMMAND": None}, "") == [(0, "")] * 2


def test_a_type_that_we_do_not_have_is_a_matter_of_usage() -> None:
    """An unknown type exits with status 2 and names those that there are."""
    ended = subprocess.run([*OURS, "dance"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "macvlan" in ended.stderr


@pytest.mark.parametrize(
    "case",
    [case("macvlan", "an address", master="eth1", ipam=POOL), case("ptp", "a pair", ipam=POOL)],
    ids=str,
)
def test_a_runtime_can_use_ours_as_programs(case: Case, cni_plugins: Path, tmp_path: Path) -> None:
    """Executed by the exec engine, ours do what the reference programs do."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for plugin in ("macvlan", "ptp", "host-local"):
        (programs / plugin).write_text(
            f'#!/bin/sh\nexec {sys.executable} -m netclaim.plugins {plugin} "$@"\n'
        )
        (programs / plugin).chmod(0o755)

    def act(site: Site) -> list[Any]:
        if site.way == "ours":
            site.plugins = ExecPlugins(inherited=os.environ, deadline_s=AMPLE_S)
            site.cni_path = programs
        return play(site, case)

    assert differences(*both(cni_plugins, tmp_path / "both", act)) == []


def test_the_hosts_namespace_is_allowed_when_the_environment_says_so(
    cni_plugins: Path, tmp_path: Path
) -> None:
    """CNI_NETNS_OVERRIDE lets a container have the namespace of the plugin itself."""
    config = json.dumps({"cniVersion": "1.1.0", "name": "net", "type": "tap"})
    with site_of("ours", cni_plugins, tmp_path / "host") as site:
        told = ENVIRONMENT | {"CNI_NETNS": f"/run/netns/{site.host}"}
        for override, status in (("", 1), ("true", 0)):
            ended = subprocess.run(
                [*OURS, "tap"],
                input=config,
                env={**os.environ, **told, "CNI_NETNS_OVERRIDE": override},
                capture_output=True,
                text=True,
                check=False,
            )
            assert ended.returncode == status, ended.stdout
