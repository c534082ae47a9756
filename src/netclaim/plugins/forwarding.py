"""Let the host pass on packets, as it must to be a container's gateway."""

from collections.abc import Iterable

from netclaim.kernel.sysctl import read_sysctl, write_sysctl

__all__ = ["enable_forwarding"]

SWITCHES = {4: "net/ipv4/ip_forward", 6: "net/ipv6/conf/all/forwarding"}


def enable_forwarding(families: Iterable[int]) -> None:
    """Switch forwarding on for each of the families 4 and 6, where it is not."""
    for family in sorted(set(families)):
        if read_sysctl(SWITCHES[family]) != "1":
            write_sysctl(SWITCHES[family], "1")
