"""Which drivers are not ready on which nodes, and what they said last.

For the user of `try` and `demo`, whose own driver may be the one that does not get ready. Promise:
one line, with the words of the first log that there is for each driver.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from netclaim.screen.words import listed

NODES_MAX: Final = 4  # names in a line; a cluster of `try` has a few nodes


def not_ready(
    drivers: Sequence[str],
    nodes: Sequence[str],
    *,
    registered: Callable[[str, str], bool],
    published: Callable[[str, str], bool],
    last_words: Callable[[str, str], str],
) -> str:
    """Say what is missing; the questions get a driver and a node."""
    return "; ".join(
        part
        for driver in drivers
        for part in _of_driver(driver, nodes, registered, published, last_words)
    )


def _of_driver(
    driver: str,
    nodes: Sequence[str],
    registered: Callable[[str, str], bool],
    published: Callable[[str, str], bool],
    last_words: Callable[[str, str], str],
) -> Iterator[str]:
    away = [node for node in nodes if not registered(driver, node)]
    silent = [node for node in nodes if node not in away and not published(driver, node)]
    for found, what in (
        (away, "has not registered with kubelet"),
        (silent, "has published no devices"),
    ):
        if found:
            said = f"its log on {found[0]}: {last_words(driver, found[0])}"
            yield f"{driver} {what} on {listed(found, NODES_MAX)}; {said}"
