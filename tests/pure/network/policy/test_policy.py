"""The policy's table, and what is made from it."""

from collections.abc import Iterator, Mapping

import pytest

from netclaim.cni.key_case import fold
from netclaim.network.policy.levels import Level
from netclaim.network.policy.table import (
    COMMON_KEYS,
    IPAM_TYPES,
    NETWORK_KEYS,
    SYSCTLS,
    TYPES,
    KeyPolicy,
)
from netclaim.network.request.into_config.wishes import WISHES, Wishes
from netclaim.network.request.keys import KEYS, SetBy
from netclaim.plugins import PLUGIN_TYPES
from netclaim.plugins.engine.key_rules import DeclaredKey, declared, keys_within
from netclaim.plugins.registry import IPAM_CLASSES, PLUGIN_CLASSES
from netclaim.plugins.strict import CommonConf, ipam_keys, own_keys
from scripts import policy_files


def all_keys() -> Iterator[tuple[str, Mapping[str, KeyPolicy]]]:
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
    table = {*TYPES, *IPAM_TYPES}
    new, gone = sorted(PLUGIN_TYPES - table), sorted(table - PLUGIN_TYPES)
    assert not new, f"add rows for the types {new} to network/policy/table.py"
    assert not gone, f"no plugin is of the types {gone}: remove them from network/policy/table.py"


def compare(name: str, table: Mapping[str, KeyPolicy], keys: Mapping[str, DeclaredKey]) -> None:
    """See that two tables have the same keys, in the same spelling."""
    named = {key.name for key in keys.values()}
    assert not (new := named - table.keys()), (
        f"{name} reads {sorted(new)}: add rows to network/policy/table.py that say who may set them"
    )
    assert not (gone := table.keys() - named), (
        f"no configuration class of {name} has {sorted(gone)}: remove the rows in "
        f"network/policy/table.py"
    )
    for key in keys.values():
        if inside := keys_within(key)[1]:
            compare(f"{name}.{key.name}", table[key.name].inside, inside)


@pytest.mark.parametrize("name", sorted(TYPES))
def test_the_policy_has_the_keys_that_a_plugin_reads(name: str) -> None:
    """A key that is added to a plugin's configuration class has to be judged."""
    compare(name, TYPES[name].keys, own_keys(PLUGIN_CLASSES[name]))


@pytest.mark.parametrize("name", sorted(IPAM_TYPES))
def test_the_policy_has_the_keys_that_are_read_under_ipam(name: str) -> None:
    """The same for the plugins that manage addresses."""
    compare(f"ipam of {name}", IPAM_TYPES[name].keys, ipam_keys(IPAM_CLASSES[name]))


def test_the_policy_has_the_keys_of_every_plugin() -> None:
    """What CNI defines for all plugins, and for a network, is what the strict check knows."""
    names = {key.name for key in declared(CommonConf).values()} - {"ipMasq"}
    assert names == {*COMMON_KEYS, *NETWORK_KEYS} - {"plugins"}


@pytest.mark.parametrize("name", sorted(PLUGIN_CLASSES))
def test_a_plugin_says_how_it_names_a_link(name: str) -> None:
    """Its link keys are keys that it reads; what says that it takes a link away is in the table."""
    kind = PLUGIN_CLASSES[name]
    named = {kind.link_key, kind.pod_link_key, *kind.other_link_keys} - {""}
    assert named <= {key.name for key in own_keys(kind).values()}
    assert bool(kind.link_key) is any(key in own_keys(kind) for key in ("master", "device"))
    assert not kind.moves_link or kind.takes_link({})


@pytest.mark.parametrize(("name", "keys"), list(all_keys()))
def test_no_two_keys_are_one_to_a_plugin(name: str, keys: Mapping[str, KeyPolicy]) -> None:
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
        at = f'"{key.name}" in network/request/keys.py'
        claims = key.set_by is SetBy.EITHER
        needs = 'needs `rule=KeyPolicy("what it is")`, since claims can set it'
        if not claims:
            needs = "needs no `rule`: claims cannot set it"
        assert (key.rule is not None) is claims, f"{at} {needs}"
        # The name costs nobody anything; what an IPAMClaim costs, the pool's `keep` allows.
        allowable = claims and key.name not in ("ifName", "ipamClaim")
        needs = "`allowable=True` is for what claims can set beside ifName, so that a class can"
        assert key.allowable is allowable, f"{at}: {needs} list it in `allow`"
        wish = allowable and key.name != "config"
        needs = "a wish is for what claims can set beside ifName and config"
        assert (key.wish is not None) is wish, f"{at}: {needs}; the driver acts on nothing else"
    names = {wish.name for wish in WISHES if not wish.adds} | {"settings"}
    new = names - set(Wishes.__struct_fields__)
    assert not new, f"add {sorted(new)} to Wishes"
    assert names == set(Wishes.__struct_fields__)


def test_docs_and_admission_policy_are_the_table() -> None:
    """The pages with tables, and deploy/claim-admission.yaml, say what the tables say today."""
    assert not (stale := policy_files.stale()), f"run scripts/policy_files.py: {stale} are stale"
