"""Draw a Grafana dashboard's panels as one picture. `render_dashboard.py` has the numbers.

Not Grafana's own picture, but its grid, titles, units and legends; enough to see what there is.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageDraw, ImageFont

__all__ = ["Series", "draw"]

SCALE: Final = 2  # drawn larger and reduced, for smooth lines
CELL_X, CELL_Y = 64 * SCALE, 26 * SCALE  # of Grafana's grid: 24 columns make 1536 points
GAP: Final = 4 * SCALE
BACKGROUND, PANEL, EDGE, GRID = "#f4f5f5", "#ffffff", "#e2e3e4", "#ececed"
INK, FAINT = "#24292e", "#6e7680"
GREEN, RED = "#1a7f4b", "#c4162a"
COLOURS: Final = (
    "#3274d9", "#e0752d", "#299c46", "#a352cc", "#d44a3a", "#1f9bb0",
    "#c2a000", "#7c7f86", "#e36bae", "#5e8c2f",
)  # fmt: skip
LEGEND_ROWS: Final = 2
TICKS: Final = 4
MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a panel: its name, and values by time."""

    name: str
    points: tuple[tuple[float, float], ...]


def draw(dashboard: dict[str, Any], answers: dict[int, list[Series]], target: Path) -> None:
    """Draw all panels into a file."""
    bottom = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in dashboard["panels"])
    image = Image.new("RGB", (24 * CELL_X + GAP, bottom * CELL_Y + GAP), BACKGROUND)
    times = [at for found in answers.values() for one in found for at, _ in one.points]
    span = (min(times), max(times))
    for panel in dashboard["panels"]:
        _panel(ImageDraw.Draw(image), panel, answers.get(panel["id"], []), span)
    small = image.resize((image.width // SCALE, image.height // SCALE), Image.Resampling.LANCZOS)
    small.quantize(200).save(target, optimize=True)


def _font(size: int) -> Any:
    return ImageFont.load_default(size * SCALE)


def _panel(
    ink: ImageDraw.ImageDraw, panel: dict[str, Any], found: list[Series], span: tuple[float, float]
) -> None:
    at = panel["gridPos"]
    left, top = at["x"] * CELL_X + GAP, at["y"] * CELL_Y + GAP
    right, bottom = left + at["w"] * CELL_X - GAP, top + at["h"] * CELL_Y - GAP
    if panel["type"] == "row":
        ink.text((left + 4, top), panel["title"], INK, _font(15))
        return
    ink.rectangle((left, top, right, bottom), PANEL, EDGE, SCALE)
    if panel["type"] == "stat":
        _stat(ink, panel, found, (left, top, right, bottom))
        return
    ink.text((left + 8 * SCALE, top + 5 * SCALE), panel["title"], INK, _font(12))
    # The most important lines first, as in a legend that is sorted.
    shown = sorted(found, key=lambda one: -max((v for _, v in one.points), default=0))
    legend_top = bottom - (LEGEND_ROWS * 15 + 4) * SCALE
    _legend(ink, shown, left + 8 * SCALE, legend_top, right - 8 * SCALE)
    box = (left + 52 * SCALE, top + 28 * SCALE, right - 12 * SCALE, legend_top - 20 * SCALE)
    _plot(ink, panel, shown, span, box)
    ago = f"{(span[1] - span[0]) / 60:.0f} min ago"
    ink.text((box[0], box[3] + 4 * SCALE), ago, FAINT, _font(9))
    ink.text((box[2], box[3] + 4 * SCALE), "now", FAINT, _font(9), anchor="ra")


def _stat(
    ink: ImageDraw.ImageDraw,
    panel: dict[str, Any],
    found: list[Series],
    box: tuple[float, float, float, float],
) -> None:
    value = found[0].points[-1][1] if found and found[0].points else 0.0
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    bad = any(step["value"] is not None and value >= step["value"] for step in steps)
    ink.rectangle(box, RED if bad else GREEN)
    left, top, right, bottom = box
    ink.text((left + 8 * SCALE, top + 6 * SCALE), panel["title"], "white", _font(12))
    middle = ((left + right) / 2, (top + bottom) / 2 + 9 * SCALE)
    ink.text(middle, f"{value:g}", "white", _font(34), anchor="mm")


def _plot(
    ink: ImageDraw.ImageDraw,
    panel: dict[str, Any],
    shown: list[Series],
    span: tuple[float, float],
    box: tuple[float, float, float, float],
) -> None:
    left, top, right, bottom = box
    custom = panel["fieldConfig"]["defaults"]["custom"]
    stacked = custom["stacking"]["mode"] == "normal"
    lines = _stack(shown) if stacked else [list(one.points) for one in shown]
    highest = max((value for line in lines for _, value in line), default=0.0)
    ceiling = _ceiling(highest, panel["fieldConfig"]["defaults"]["unit"])

    def place(at_s: float, value: float) -> tuple[float, float]:
        across = (at_s - span[0]) / (span[1] - span[0])
        return left + across * (right - left), bottom - value / ceiling * (bottom - top)

    for tick in range(TICKS + 1):
        y = bottom - tick / TICKS * (bottom - top)
        ink.line((left, y, right, y), GRID, SCALE)
        text = _amount(ceiling * tick / TICKS, panel["fieldConfig"]["defaults"]["unit"])
        ink.text((left - 6 * SCALE, y), text, FAINT, _font(10), anchor="rm")
    if not shown:
        middle = ((left + right) / 2, (top + bottom) / 2)
        ink.text(middle, "none in this time range", FAINT, _font(12), anchor="mm")
    order = list(enumerate(lines))  # of a stack the highest first; else the most important last
    for index, line in order if stacked else reversed(order):
        points = [place(*point) for point in line]
        colour = COLOURS[index % len(COLOURS)]
        if stacked and len(points) > 1:
            area = [*points, (points[-1][0], bottom), (points[0][0], bottom)]
            ink.polygon(area, fill=_pale(colour))
        if len(points) > 1:
            ink.line(points, colour, 2 * SCALE, joint="curve")


def _stack(shown: list[Series]) -> list[list[tuple[float, float]]]:
    """Put each line on those after it; where one has no value, it adds nothing."""
    times = sorted({at for one in shown for at, _ in one.points})
    below = dict.fromkeys(times, 0.0)
    lines: list[list[tuple[float, float]]] = []
    for one in reversed(shown):
        values = dict(one.points)
        below = {at: below[at] + values.get(at, 0.0) for at in times}
        lines.insert(0, list(below.items()))
    return lines


def _legend(
    ink: ImageDraw.ImageDraw, shown: list[Series], left: float, top: float, right: float
) -> None:
    x, row = left, 0
    for index, one in enumerate(shown):
        width = ink.textlength(one.name, _font(10)) + 28 * SCALE
        if x + width > right:
            x, row = left, row + 1
        if row == LEGEND_ROWS - 1 and x + width + 70 * SCALE > right and index < len(shown) - 1:
            ink.text(
                (x, top + row * 15 * SCALE), f"and {len(shown) - index} more", FAINT, _font(10)
            )
            return
        y = top + row * 15 * SCALE
        colour = COLOURS[index % len(COLOURS)]
        ink.rectangle((x, y + 5 * SCALE, x + 12 * SCALE, y + 8 * SCALE), colour)
        ink.text((x + 16 * SCALE, y), one.name, INK, _font(10))
        x += width


def _ceiling(highest: float, unit: str) -> float:
    """Return a round number above all values."""
    if unit == "percentunit":
        return 1.0 if highest > 0.2 else 0.2
    if highest <= 0:
        return 1.0
    step = MIB if unit == "bytes" else 1e-6
    while True:
        for factor in (1, 2, 4, 8):
            if step * factor >= highest * 1.05:
                return step * factor
        step *= 10


def _amount(value: float, unit: str) -> str:
    match unit:
        case "percentunit":
            return f"{value * 100:g} %"
        case "s" if value == 0:
            return "0 s"
        case "s":
            return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"
        case "ops" | "reqps":
            return f"{value:g} /s"
        case "bytes" | "bps":
            return f"{value / MIB:g} MiB" if unit == "bytes" else f"{value / 1e6:g} Mb/s"
    return f"{value:g}"


def _pale(colour: str) -> tuple[int, int, int]:
    """Return a light shade, for areas."""
    red, green, blue = (int(colour[index : index + 2], 16) for index in (1, 3, 5))
    return tuple(round(255 - (255 - part) * 0.35) for part in (red, green, blue))  # type: ignore[return-value]
