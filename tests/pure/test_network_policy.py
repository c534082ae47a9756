"""The policy's table, and what is made from it."""

from collections.abc import Iterator, Mapping

import pytest

from netclaim.cni.folding import fold
from netclaim.network.parameter_keys import KEYS, WISHES, SetBy
from netclaim.network.policy import (
    COMMON_KEYS,
    IPAM_TYPES,
    NETWORK_KEYS,
    SYSCTLS,
    TYPES,
    Key,
    Level,
)
from netclaim.network.wishes import Wishes
from netclaim.plugins import PLUGIN_TYPES
from scripts import policy_files


def all_keys() -> Iterator[tuple[str, Mapping[str, Key]]]:
    """Every object of the table that has keys."""
    yield "network", NETWORK_KEYS
    yield "plugin", COMMON_KEYS
    for name, known in (*TYPES.items(), *IPAM_TYPES.items()):
        yield name, known.keys


def test_levels_include_each_other() -> None:
    """Levels have an order, and their names are what labels say."""
    assert Level.RESTRICTED < Level.BASELINE < Level.PRIVILEGED
    assert [str(level) for level in Level] == ["restricted", "baseline", "privileged"]


def test_every_plugin_of_ours_is_in_the_table() -> None:
    """A type that runs in process has a row; what is not in the table is a program."""
    assert {*TYPES, *IPAM_TYPES} == PLUGIN_TYPES


@pytest.mark.parametrize(("name", "keys"), list(all_keys()))
def test_no_two_keys_are_one_to_a_plugin(name: str, keys: Mapping[str, Key]) -> None:
    """The table has one spelling of each key."""
    assert len({fold(key) for key in keys}) == len(keys)


def test_keys_of_a_type_are_not_those_of_all() -> None:
    """A key stands in one place of the table only."""
    for known in TYPES.values():
        assert not known.keys.keys() & COMMON_KEYS.keys()


def test_files_programs_and_the_runtimes_word_need_privileged() -> None:
    """What names a path of the node, or speaks for the runtime, is never baseline."""
    for name in ("capabilities", "runtimeConfig", "args", "prevResult"):
        assert COMMON_KEYS[name].level is Level.PRIVILEGED
    for kind, key in (("host-local", "dataDir"), ("host-local", "resolvConf")):
        assert IPAM_TYPES[kind].keys[key].level is Level.PRIVILEGED
    assert TYPES["tuning"].keys["dataDir"].level is Level.PRIVILEGED
    assert TYPES["tap"].keys["selinuxContext"].level is Level.PRIVILEGED
    for kind in ("bridge", "ptp", "bandwidth"):
        assert TYPES[kind].level is Level.PRIVILEGED


def test_sysctls_are_of_the_pod_or_its_own_interface() -> None:
    """No sysctl of the list means all interfaces, forwards packets or is shared with the node."""
    for name in SYSCTLS:
        parts = name.split(".")
        assert parts[0] == "net"
        assert parts[1] in {"ipv4", "ipv6"}
        assert not {"all", "default", "forwarding", "ip_forward", "core"} & set(parts)
        if "conf" in parts:
            assert parts[3] == "IFNAME"


def test_a_parameter_has_all_that_its_row_says() -> None:
    """What a claim can set has a rule; a class can allow all but the name; a wish has a field."""
    for key in KEYS:
        assert (key.rule is not None) is (key.set_by is SetBy.EITHER), key.name
        assert key.allowable is (key.set_by is SetBy.EITHER and key.name != "ifName"), key.name
    assert set(WISHES) == set(Wishes.__struct_fields__)


def test_docs_and_admission_policy_are_the_table() -> None:
    """docs/security.md and deploy/claim-admission.yaml say what the table says today."""
    assert policy_files.stale() == []
