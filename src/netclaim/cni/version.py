"""The versions of the CNI specification, and their order.

Promise: a version that came from here can be compared, and passed to a plugin.
Limit: knows published versions only; a plugin's own version is not its business.
"""

from functools import lru_cache

NO_VERSION = "0.1.0"  # what the specification reads a configuration without `cniVersion` as
CHAINING = "0.3.0"  # prevResult, and with it lists of plugins
CHECK = "0.4.0"  # CHECK, and prevResult on DEL
LATEST = "1.1.0"  # GC and STATUS; the newest that we speak

SPEC_VERSIONS = (NO_VERSION, "0.2.0", CHAINING, "0.3.1", CHECK, "1.0.0", LATEST)


@lru_cache(maxsize=32)  # there are seven, and every call compares some
def version_key(version: str) -> tuple[int, int, int]:
    """Return what to compare versions by; ValueError where the text is no version at all.

    Missing parts count as zero, as the reference library reads them.
    """
    parts = version.split(".")
    if len(parts) > 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"{version!r} is not of the form MAJOR.MINOR.PATCH")
    major, minor, patch = (*map(int, parts), 0, 0)[:3]
    return major, minor, patch


def at_least(version: str, other: str) -> bool:
    """Whether `version` is `other` or newer."""
    return version_key(version) >= version_key(other)
