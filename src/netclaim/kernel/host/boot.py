"""Which boot of the machine this is."""

from pathlib import Path
from typing import Final

from netclaim.errors import HostError

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """What distinguishes this boot from all others; raises HostError."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError as error:
        raise HostError(f"cannot read {BOOT_ID}: {error}") from error
