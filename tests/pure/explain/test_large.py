"""`netclaim explain` for a saved cluster: what is done once, however many devices there are."""

import json
from pathlib import Path
from typing import Any

import pytest

from netclaim.allocator.cel import selector
from netclaim.allocator.cel.run.compiler import compile_node
from netclaim.cli import main
from netclaim.explain.answer import answer_all
from netclaim.explain.subject import choose
from netclaim.explain.world import read_world
from netclaim.manifests.text.documents import SIZE_MAX
from netclaim.survey.files import LINES_MAX, read_own
from tests.support.explain_objects import ATTRIBUTES, claim, device_class, link, links

CLAIM = claim("nic", f'{ATTRIBUTES}.name == "eth1" && {ATTRIBUTES}.mtu >= 9000')


def saved(nodes: int, padding: int = 0) -> dict[str, Any]:
    """A cluster as `kubectl get -o json` prints it, with so many bytes that nothing reads."""
    slices = [links(f"node-{n}", link("eth0"), link("eth1")) for n in range(nodes)]
    devices = device_class()
    devices["metadata"]["annotations"] = {"example.com/padding": "x" * padding}
    return {"apiVersion": "v1", "kind": "List", "items": [*slices, devices]}


def compilations(nodes: int, where: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many parts of selectors are compiled in order to explain the claim."""
    file = where / f"{nodes}.json"
    file.write_text(json.dumps({"kind": "List", "items": [*saved(nodes)["items"], CLAIM]}))
    compiled: list[object] = []

    def counting(*given: Any) -> Any:
        compiled.append(given)
        return compile_node(*given)

    monkeypatch.setattr(selector, "compile_node", counting)
    world = read_world(read_own([str(file)], "default"))
    (answer,) = answer_all(world, choose(world, "", "", among=lambda _: True))
    monkeypatch.undo()
    assert len(answer.lines) == 2 * nodes
    return len(compiled)


def test_selectors_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clauses of a selector, and what they read, are not compiled again for each device."""
    assert 0 < compilations(3, tmp_path, monkeypatch) == compilations(30, tmp_path, monkeypatch)


@pytest.mark.parametrize("size", [LINES_MAX, SIZE_MAX])
def test_a_large_dump(size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON that is larger than a manifest can be is read, with the same answers."""
    claimed = tmp_path / "claim.json"
    claimed.write_text(json.dumps(CLAIM))
    shown = []
    for padding in (0, size):
        dump = tmp_path / f"{padding}.json"
        dump.write_text(json.dumps(saved(3, padding)))
        with pytest.raises(SystemExit) as ended:
            main(["explain", "-f", str(claimed), "-f", str(dump)])
        assert ended.value.code == 1
        shown.append(capsys.readouterr().out)
    assert "nearest: node-0/eth1" in shown[0]
    assert shown[0] == shown[1]
