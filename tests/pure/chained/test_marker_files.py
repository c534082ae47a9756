"""The files by which netclaim-attach decides."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.chained import PlanFiles, PlanState
from netclaim.errors import HostError, RequestError

NAMES = st.frozensets(st.sampled_from(["a", "b-1", "C_2", "d.e"]))
STATES = st.builds(
    PlanState,
    pods=NAMES,
    shared=st.dictionaries(st.sampled_from(["default", "shop"]), NAMES),
    sandboxes=NAMES,
    attached=NAMES,
    ask_all=st.booleans(),
)


def contents(root: Path) -> dict[str, str]:
    """Every file below, with what it says."""
    return {
        str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()
    }


def as_files(state: PlanState) -> dict[str, str]:
    """What files a state should be."""
    files = {f"namespaces/{name}": "".join(f"{uid}\n" for uid in sorted(claims))
             for name, claims in state.shared.items() if claims}  # fmt: skip
    for sort in ("pods", "sandboxes", "attached"):
        files |= {f"{sort}/{name}": "" for name in getattr(state, sort)}
    return files | ({"ask": ""} if state.ask_all else {})


@given(STATES, STATES)
def test_rewrite_leaves_exactly_the_state(
    tmp_path_factory: pytest.TempPathFactory, before: PlanState, after: PlanState
) -> None:
    """Whatever an earlier driver left, what is there afterwards is what was given.

    While every pod is asked about, what it knew of pods and namespaces stays.
    """
    root = tmp_path_factory.mktemp("plans")
    plans = PlanFiles(root)
    plans.rewrite(before)
    (root / "namespaces" / ".half-written").touch()
    expected = as_files(after)
    if after.ask_all:
        kept = ("pods/", "namespaces/")
        empty = {f"namespaces/{name}" for name, claims in after.shared.items() if not claims}
        stays = {k: v for k, v in as_files(before).items() if k.startswith(kept)}
        expected = {k: v for k, v in stays.items() if k not in empty} | expected
    for _ in range(2):
        plans.rewrite(after)
        assert contents(root) == expected


def test_one_thing_at_a_time(tmp_path: Path) -> None:
    """Each fact comes and goes by itself, and may be said twice."""
    plans = PlanFiles(tmp_path)
    for _ in range(2):
        plans.note_pod("u1")
        plans.note_sandbox("s1")
        plans.note_attached("s1")
        plans.set_shared("shop", ["c2", "c1"])
        plans.ask_all(True)
    state = PlanState(
        frozenset({"u1"}), {"shop": ["c1", "c2"]}, frozenset({"s1"}), frozenset({"s1"}), True
    )
    assert contents(tmp_path) == as_files(state)
    assert (plans.attached_dir / "s1").exists()
    for _ in range(2):
        plans.forget_pod("u1")
        plans.forget_sandbox("s1")
        plans.forget_attached("s1")
        plans.set_shared("shop", [])
        plans.ask_all(False)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a\n", "é", "a" * 254])
def test_names_that_are_no_names(tmp_path: Path, name: str) -> None:
    """Nothing that could be a path or a hidden file becomes a file's name, nor a line of one."""
    plans = PlanFiles(tmp_path)
    for act in (plans.note_pod, plans.forget_pod, plans.note_sandbox, plans.note_attached):
        with pytest.raises(RequestError):
            act(name)
    for namespace, claim in ((name, "c1"), ("shop", name)):
        with pytest.raises(RequestError):
            plans.set_shared(namespace, [claim])
    assert contents(tmp_path) == {}


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in its place is the node owner's to remove, and is named."""
    (tmp_path / "plans").touch()
    with pytest.raises(HostError, match=str(tmp_path / "plans")):
        PlanFiles(tmp_path / "plans")
