"""What stands in the place of a driver's own JSON that cannot be read. No I/O.

The API server stores what a tenant wrote there without a look into it. Promise: an object that
holds such JSON is read all the same, so that nobody else waits for it; code that would act on the
parameters finds out that they are not there, and why.
"""

from typing import Any, Final

from netclaim.model.api.base import JsonObject

# Somebody who writes this key has parameters that are refused, and nothing else.
KEY: Final = "netclaim.unreadable"
# How deep parameters may be nested: twice what the network driver takes of a configuration, and
# little enough for any walk through them.
LEVELS_MAX: Final = 64
# Above a driver's own JSON: spec.spec.devices.config[0].opaque of a template, and the object.
LEVELS_ABOVE: Final = 8


def stand_in(why: str) -> JsonObject:
    """Return what stands for JSON that cannot be read."""
    return {KEY: why}


def why_unreadable(found: Any) -> str:
    """Return why the JSON that this stands for could not be read; empty if it is what was read."""
    return str(found[KEY]) if isinstance(found, dict) and isinstance(found.get(KEY), str) else ""


def bounded(found: Any) -> Any:
    """Return decoded JSON, or what stands for it if it is nested too deeply to be walked through.

    Decoders follow ten times as many levels as there may be.
    """
    return found if _is_within(found, LEVELS_MAX) else stand_in("it is nested too deeply")


def _is_within(value: Any, levels: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_within(one, levels - 1) for one in inner)
    return True
