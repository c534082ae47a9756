"""Record commands on a terminal as a picture that plays: docs/images/try.svg.

    python scripts/recording.py            records it again
    python scripts/recording.py --check    fails if the commands print something else by now

The picture is text that appears, line by line, when it was printed, and starts again at its end.
It needs no script and loads nothing, so that it plays wherever pictures are shown; readers who ask
for less motion see its end. Limit: for commands that print lines; nothing moves the cursor.
"""

import argparse
import itertools
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from rich.ansi import AnsiDecoder
from rich.text import Text

CHECKOUT: Final = Path(__file__).parent.parent
PICTURE: Final = CHECKOUT / "docs" / "images" / "try.svg"
SCENES: Final = (
    "cat network.yaml",
    "netclaim try -f network.yaml",
    "netclaim check -f claim.yaml",
)
FILES: Final = {
    "network.yaml": "examples/networks/media-net.yaml",
    "claim.yaml": "examples/typo/claim.yaml",
}
COLUMNS, ROWS = 92, 26  # fits the width of a page of the site
CHARACTER, LINE, EDGE = 8.43, 20, 16  # points, for a font of 14
START_S: Final = 0.8  # from a command to its output: time to see what was typed
READ_S: Final = 2.5  # after each command, and before its output goes
END_S: Final = 6.0  # before it starts again
COLOURS: Final = {"red": "#f47067", "green": "#8ddb8c", "yellow": "#daaa3f", "cyan": "#76e3ea"}
STYLE: Final = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
    "fill:#adbac7;white-space:pre}"
    ".l{animation-iteration-count:infinite;animation-timing-function:step-end}"
)
PROMPT: Final = "$ "
SHOWN: Final = re.compile(r"<text\b[^>]*>(.*?)</text>")
VARYING: Final = re.compile(r"\b\d+(?:\.\d+)? s\b")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the terminal, and when it is there."""

    at_s: float
    text: Text
    is_command: bool = False


def record() -> list[Line]:
    """Run the scenes, one after the other."""
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="netclaim-recording-") as name:
        for file, source in FILES.items():
            text = (CHECKOUT / source).read_text()
            (Path(name) / file).write_text(re.sub(r"\A(#.*\n)+", "", text))
        now_s = 0.5
        for command in SCENES:
            lines.append(Line(now_s, Text(PROMPT + command), is_command=True))
            now_s += START_S
            printed = _run(command, Path(name))
            lines.extend(Line(now_s + after_s, text) for after_s, text in printed)
            now_s = lines[-1].at_s + READ_S
    return lines


def _run(command: str, where: Path) -> list[tuple[float, Text]]:
    """What a command prints on a terminal, wrapped as one does it, and how long after its start."""
    arguments = shlex.split(command)
    if arguments[0] == "netclaim":
        arguments[:1] = [sys.executable, "-m", "netclaim"]
    ours, theirs = pty.openpty()
    size = {"COLUMNS": str(COLUMNS), "LINES": "500", "TERM": "xterm-256color"}
    started = time.monotonic()
    with subprocess.Popen(
        arguments, cwd=where, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        env={**os.environ, **size},
    ):  # fmt: skip
        os.close(theirs)
        parts: list[tuple[float, str]] = []
        rest = b""
        while content := _read(ours):
            *whole, rest = (rest + content).split(b"\n")
            after_s = time.monotonic() - started
            parts.extend((after_s, each.decode().rstrip("\r")) for each in whole)
    os.close(ours)
    decoder = AnsiDecoder()
    return [
        (after_s, row)
        for after_s, part in parts
        for row in _wrapped(decoder.decode_line(part.rpartition("\r")[2]))
    ]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the last program has closed it
        return b""


def _wrapped(text: Text) -> list[Text]:
    return [text[start : start + COLUMNS] for start in range(0, max(1, len(text)), COLUMNS)]


def picture(lines: list[Line]) -> str:
    """Return the recording as SVG."""
    width, height = COLUMNS * CHARACTER + 2 * EDGE, ROWS * LINE + 2 * EDGE
    whole_s = lines[-1].at_s + END_S
    styles = [
        STYLE,
        f".l{{animation-duration:{whole_s:.1f}s}}",
        "@media (prefers-reduced-motion:reduce){.l{animation:none!important}",
        f"#screen{{transform:translateY({-_scrolled(len(lines))}px)}}}}",
        *(
            f"#l{number}{{animation-name:k{number}}}"
            f"@keyframes k{number}{{0%{{opacity:0}}{line.at_s / whole_s:.2%}{{opacity:1}}}}"
            for number, line in enumerate(lines)
        ),
    ]
    moves = {0.0: 0} | {line.at_s: _scrolled(number + 1) for number, line in enumerate(lines)}
    steps = "".join(
        f"{at_s / whole_s:.2%}{{transform:translateY({-y}px)}}" for at_s, y in moves.items()
    )
    styles.append(f"#screen{{animation-name:screen}}@keyframes screen{{{steps}}}")
    rows = "\n".join(_row(number, line) for number, line in enumerate(lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img"'
        ' aria-label="A terminal: netclaim runs a network and a pod, and finds two mistakes">\n'
        f"<style>{''.join(styles)}</style>\n"
        f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#22272e"/>\n'
        f'<svg x="{EDGE}" y="{EDGE}" width="{width - 2 * EDGE:.0f}" height="{ROWS * LINE}">\n'
        f'<g id="screen" class="l">\n{rows}\n</g>\n</svg>\n</svg>\n'
    )


def _scrolled(lines: int) -> int:
    return max(0, lines - ROWS) * LINE


def _row(number: int, line: Line) -> str:
    y = number * LINE + LINE - 5  # the base line of the letters
    inner = "".join(_spans(line.text))
    if line.is_command:
        inner = f'<tspan fill="#ffffff" font-weight="700">{inner}</tspan>'
    return f'<text id="l{number}" class="l" y="{y}">{inner}</text>'


def _spans(text: Text) -> list[str]:
    """The pieces of a line, each in its colour."""
    pieces = []
    edges = sorted({0, len(text), *(edge for span in text.spans for edge in span[:2])})
    for start, end in itertools.pairwise(edges):
        styles = [span.style for span in text.spans if span.start <= start and end <= span.end]
        drawn = {
            f' fill="{COLOURS[style.color.name]}"'
            for style in styles
            if not isinstance(style, str) and style.color and style.color.name in COLOURS
        }
        drawn |= {
            ' font-weight="700"' for style in styles if not isinstance(style, str) and style.bold
        }
        inner = escape(text.plain[start:end], quote=False)
        pieces.append(f"<tspan{''.join(sorted(drawn))}>{inner}</tspan>" if drawn else inner)
    return pieces


def texts(svg: str) -> list[str]:
    """The lines that a recording shows, without what differs from run to run."""
    shown = (re.sub(r"<[^>]+>", "", found) for found in SHOWN.findall(svg))
    return [VARYING.sub("", line) for line in shown]


def main() -> None:
    """Record, or only look."""
    parser = argparse.ArgumentParser(description="Record docs/images/try.svg.")
    parser.add_argument("--check", action="store_true", help="Change nothing; fail if not current.")
    options = parser.parse_args()
    recorded = picture(record())
    if options.check:
        if texts(recorded) != texts(PICTURE.read_text()):
            sys.exit("docs/images/try.svg is not current; run scripts/recording.py")
    else:
        PICTURE.write_text(recorded)


if __name__ == "__main__":
    main()
