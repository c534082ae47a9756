"""Where a status that changes is shown: a terminal, a pipe, or a tool that reads documents.

Promise: a terminal is painted in place; a pipe gets everything once, then only the rows and the
problems that are new or different, and a line for what is gone; JSON is one document a line, YAML
one document after the other, each whole. What has not changed is not written again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from netclaim.screen import PlainScreen
from netclaim.status.scope import Scope
from netclaim.status.showing.fit import fit
from netclaim.status.showing.show import Form, Look, Section, as_json, as_yaml, sections, show
from netclaim.status.values import Status

if TYPE_CHECKING:
    from netclaim.screen.canvas import Canvas


class Display(Protocol):
    """What shows one status after the other."""

    def show(self, status: Status) -> None:
        """Show a status, in place of the one before."""
        ...

    def again(self) -> None:
        """Show the same status again, because the terminal has another size."""
        ...


@contextmanager
def display_for(stream: TextIO, scope: Scope, form: Form) -> Iterator[Display]:
    """Lend the display that suits where output goes, and leave everything tidy."""
    look = Look(wide=form == "wide")
    if form in ("json", "yaml"):
        yield _Documents(stream, form)
    elif stream.isatty():
        from netclaim.screen.canvas import Canvas  # noqa: PLC0415 - rich is slow to import

        with Canvas(stream) as canvas:
            yield _Terminal(canvas, scope, look)
    else:
        yield _Rows(stream, scope, look)


class _Documents:
    def __init__(self, stream: TextIO, form: Form) -> None:
        self._stream = stream
        self._form = form
        self._last: Status | None = None

    def show(self, status: Status) -> None:
        if status == self._last:
            return
        text = (
            f"{as_json(status, indent=0)}\n" if self._form == "json" else f"---\n{as_yaml(status)}"
        )
        self._stream.write(text)
        self._stream.flush()
        self._last = status

    def again(self) -> None:
        pass  # a document has no size


class _Terminal:
    def __init__(self, canvas: "Canvas", scope: Scope, look: Look) -> None:
        self._canvas = canvas
        self._scope = scope
        self._look = look

    def show(self, status: Status) -> None:
        self._canvas.paint(lambda screen: show(status, self._scope, screen, self._look))

    def again(self) -> None:
        self._canvas.again()


class _Rows:
    """A pipe, which gets what has changed since the last time."""

    def __init__(self, stream: TextIO, scope: Scope, look: Look) -> None:
        self._screen = PlainScreen(stream)
        self._scope = scope
        self._look = look
        self._last: Status | None = None

    def show(self, status: Status) -> None:
        if self._last is None:
            show(status, self._scope, self._screen, self._look)
        elif status != self._last:
            self._show_changes(self._last, status)
        self._last = status

    def again(self) -> None:
        pass  # rows in a pipe have no size

    def _show_changes(self, before: Status, now: Status) -> None:
        for note in now.notes:
            if note not in before.notes:
                self._screen.line(note)
        for problem in now.problems:
            if problem not in before.problems:
                self._screen.line(str(problem))
        for problem in before.problems:
            if problem not in now.problems:
                self._screen.line(f"no longer: {problem}")
        old = {one.name: _by_key(one) for one in sections(before, self._scope, self._look)}
        for section in sections(now, self._scope, self._look):
            self._show_rows(section, old[section.name])

    def _show_rows(self, section: Section, old: dict[Any, Any]) -> None:
        new = _by_key(section)
        changed = [value for key, value in new.items() if old.get(key) != value]
        if changed:
            fitted = fit(section.columns, changed, None, wide=self._look.wide)
            self._screen.table(fitted.header, fitted.rows)
        for key in old:
            if key not in new:
                self._screen.line(f"gone: {section.name.removesuffix('s')} {'/'.join(key)}")


def _by_key(section: Section) -> dict[tuple[str, ...], Any]:
    return {tuple(_key(one)): one for one in section.values}


def _key(value: Any) -> Iterator[str]:
    for field in ("namespace", "driver", "pool"):
        found = getattr(value, field, "")
        if found:
            yield found
    yield value.name
