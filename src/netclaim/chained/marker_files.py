"""The files by which netclaim-attach decides whether a pod concerns the driver.

    PLANS/pods/POD-UID             the pod has a claim that is prepared
    PLANS/namespaces/NAMESPACE     claims that further pods of the namespace may share; one a line
    PLANS/sandboxes/SANDBOX-ID     the driver gave the sandbox something, so it needs its DEL
    PLANS/attached/SANDBOX-ID      the sandbox has everything that its pod claims
    PLANS/ask                      the journal was lost: every pod has to be looked up

Promise: a file is there whole or not at all, and one that `rewrite` keeps never disappears
meanwhile. Every method may be called twice. Limit: nothing is synced to a disk; the directory is in
/run, and the driver writes it again when it starts.
"""

import re
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import msgspec

from netclaim.chained.files import host_errors
from netclaim.errors import RequestError

# As netclaim-attach checks them (native/files.c): no path, no hidden file.
_SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,252}", re.ASCII)
DIRECTORY_MODE: Final = 0o755  # UIDs and namespaces are no secrets; only root writes
PODS, NAMESPACES, SANDBOXES, ATTACHED = "pods", "namespaces", "sandboxes", "attached"
SORTS: Final = (PODS, NAMESPACES, SANDBOXES, ATTACHED)
ASK: Final = "ask"
WRITING: Final = "cannot write plan files"


class PlanState(msgspec.Struct, frozen=True):
    """The content of all files."""

    pods: frozenset[str] = frozenset()
    shared: Mapping[str, Collection[str]] = msgspec.field(default_factory=dict)
    sandboxes: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset()
    ask_all: bool = False


class PlanFiles:
    def __init__(self, root: Path) -> None:
        """Make the directories; what is in them stays until `rewrite`."""
        self.root = root
        with host_errors(WRITING, root):
            for sort in SORTS:
                (root / sort).mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)

    @property
    def attached_dir(self) -> Path:
        """Where the markers of complete sandboxes are, for `netclaim-attach wait --attached`."""
        return self.root / ATTACHED

    def concerns(self, uid: str, namespace: str) -> bool:
        """Whether a pod may have a plan according to the files, as the program reads them."""
        paths = (self.root / PODS / uid, self.root / NAMESPACES / namespace, self.root / ASK)
        return any(path.exists() for path in paths)

    def note_pod(self, uid: str) -> None:
        """Have the runtime wait for the driver before this pod starts."""
        self._note(PODS, uid)

    def forget_pod(self, uid: str) -> None:
        """Stop having the runtime wait for the driver before this pod starts."""
        self._forget(PODS, uid)

    def set_shared(self, namespace: str, claim_uids: Collection[str]) -> None:
        """Record which claims further pods of a namespace may share; none removes the file."""
        if not claim_uids:
            self._forget(NAMESPACES, namespace)
            return
        lines = "".join(f"{_checked(uid)}\n" for uid in sorted(claim_uids))
        self._note(NAMESPACES, namespace, lines)

    def ask_all(self, on: bool) -> None:
        """Have the program ask about every pod, or stop that."""
        with host_errors(WRITING, self.root):
            if on:
                (self.root / ASK).touch()
            else:
                (self.root / ASK).unlink(missing_ok=True)

    def note_sandbox(self, sandbox_id: str) -> None:
        """Record that the driver gives the sandbox something, so that it gets its DEL."""
        self._note(SANDBOXES, sandbox_id)

    def forget_sandbox(self, sandbox_id: str) -> None:
        """Record that the sandbox has nothing from the driver any more."""
        self._forget(SANDBOXES, sandbox_id)

    def sandboxes(self, *, before: float) -> frozenset[str]:
        """Return the sandboxes that have a file of either kind, last written before this time."""
        with host_errors(WRITING, self.root):
            return frozenset(
                path.name
                for sort in (SANDBOXES, ATTACHED)
                for path in (self.root / sort).iterdir()
                if not path.name.startswith(".") and path.stat().st_mtime < before
            )

    def note_attached(self, sandbox_id: str) -> None:
        """Record that the sandbox is complete: its containers may start, even without a driver."""
        self._note(ATTACHED, sandbox_id)

    def forget_attached(self, sandbox_id: str) -> None:
        """Record that the sandbox does not have everything any more."""
        self._forget(ATTACHED, sandbox_id)

    def rewrite(self, state: PlanState) -> None:
        """Leave exactly this state, and nothing of an earlier driver. What is missing comes first.

        While the program has to ask about every pod, the pods and namespaces that an earlier driver
        noted stay, because they say more than what is known now.
        """
        names = {
            PODS: state.pods,
            NAMESPACES: {name for name, claims in state.shared.items() if claims},
            SANDBOXES: state.sandboxes,
            ATTACHED: state.attached,
        }
        for namespace, claims in state.shared.items():
            self.set_shared(namespace, claims)
        for sort in (PODS, SANDBOXES, ATTACHED):
            for name in names[sort]:
                self._note(sort, name)
        if state.ask_all:
            self.ask_all(True)
        for sort, kept in names.items():
            noted = self._names(sort) if state.ask_all and sort in (PODS, NAMESPACES) else set()
            self._keep_only(sort, kept | noted)
        if not state.ask_all:
            self.ask_all(False)

    def _note(self, sort: str, name: str, content: str = "") -> None:
        path = self.root / sort / _checked(name)
        with host_errors(WRITING, path):
            if not content:
                path.touch()
                return
            # The program takes no name with a dot in front, and `rewrite` removes a leftover.
            draft = path.parent / f".{secrets.token_hex(8)}"
            draft.write_text(content)
            draft.replace(path)

    def _forget(self, sort: str, name: str) -> None:
        path = self.root / sort / _checked(name)
        with host_errors(WRITING, path):
            path.unlink(missing_ok=True)

    def _names(self, sort: str) -> set[str]:
        directory = self.root / sort
        with host_errors(WRITING, directory):
            return {path.name for path in directory.iterdir() if not path.name.startswith(".")}

    def _keep_only(self, sort: str, names: Collection[str]) -> None:
        directory = self.root / sort
        with host_errors(WRITING, directory):
            for path in directory.iterdir():
                if path.name not in names:
                    path.unlink(missing_ok=True)


def _checked(name: str) -> str:
    if not _SAFE_NAME.fullmatch(name):
        raise RequestError(f"{name[:60]!r} is not a valid UID, namespace or sandbox ID")
    return name
