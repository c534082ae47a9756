"""The driver does not grow with the pods that it has served: thousands of lifetimes on one node.

Each pod has a claim of its own for a macvlan, gets its interface, and goes. After a warm-up the
driver's process must stay as it is, and nothing of the pods may be left.

NETCLAIM_SOAK=N lets N pods live, instead of those of every day; `make soak` has 2,000.
"""

import os
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from netclaim.local.cluster import EmbeddedCluster
from netclaim.schema.kinds import CLAIM, TEMPLATE
from tests.embedded.local.test_cluster import (
    add_pod,
    all_gone,
    all_settled,
    claim_spec,
    in_cluster,
    leases,
    make,
)

# 2,000 lives take some minutes where nothing else runs.
pytestmark = [pytest.mark.embedded, pytest.mark.timeout(1800)]

LIVES: Final = int(os.environ.get("NETCLAIM_SOAK", "200"))
AT_ONCE: Final = 20  # pods at a time: the demo's fifteen and some
WARM_UP: Final = 100  # lives; caches, pools of threads and the allocator's arenas are full after it
NODE: Final = "kind-worker"

# What may be more after all lives than after the warm-up. Of 1,900 lives it was 1.4 MiB, nearly all
# of it in the first 400, no descriptor and no thread. 4 MiB are 2 KiB of each life, less than the
# JSON of its plan and attachment.
GROWTH_KIB: Final = 4096
DESCRIPTORS: Final = 4  # connections to the API server come and go; one lost in 400 lives is found
THREADS: Final = 4  # a pool opens another thread when all are busy, up to its limit


@dataclass(frozen=True)
class Size:
    """How big a process is."""

    resident_kib: int
    descriptors: int
    threads: int


def driver_pid() -> int:
    """The process of the node's driver."""
    wanted = f"--node-name={NODE}".encode()
    (found,) = (
        path.parent
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if wanted in path.read_bytes().split(b"\0")
    )
    return int(found.name)


def size_of(pid: int) -> Size:
    """What the kernel says of a process."""
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return Size(
        resident_kib=int(status["VmRSS"].split()[0]),
        descriptors=len(list((process / "fd").iterdir())),
        threads=int(status["Threads"]),
    )


def left_of_pods(cluster: EmbeddedCluster) -> dict[str, list[str]]:
    """Whatever there is that comes and goes with pods, by where it is."""
    (node,) = (node for node in cluster.nodes if node.place.name == NODE)
    (journal,) = node.place.directory.glob("state/**/journal.db")
    with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as database:
        named = database.execute("select name from sqlite_schema where type = 'table'")
        tables = [name for (name,) in named]
        rows = [
            f"{table}: {row}"
            for table in tables
            if table != "meta"
            for row in database.execute(f"select * from {table}")
        ]
    database.close()
    return {
        "journal": rows,
        "leases": sorted(leases(NODE)),
        "namespaces": sorted(path.name for path in Path("/run/netns").iterdir()),
        "results": sorted(str(path) for path in node.place.directory.glob("**/results/*")),
        "claims": [claim["metadata"]["name"] for claim in cluster.store.list(CLAIM)],
    }


def test_soak() -> None:
    """After thousands of pods the driver is as big as after a hundred, and nothing is left."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make(cluster, TEMPLATE, "t", {"spec": claim_spec("eth1")})
        before = left_of_pods(cluster)
        pid = driver_pid()
        await live(cluster, WARM_UP)
        warm = size_of(pid)
        await live(cluster, LIVES - WARM_UP)
        end = size_of(pid)
        sys.stdout.write(f"after {WARM_UP} lives: {warm}; after {LIVES}: {end}\n")
        assert end.resident_kib <= warm.resident_kib + GROWTH_KIB
        assert end.descriptors <= warm.descriptors + DESCRIPTORS
        assert end.threads <= warm.threads + THREADS
        assert left_of_pods(cluster) == before

    in_cluster(scenario)


async def live(cluster: EmbeddedCluster, lives: int) -> None:
    """Let so many pods have their interface, some at a time, and go again."""
    for first in range(0, lives, AT_ONCE):
        count = min(AT_ONCE, lives - first)
        for number in range(count):
            add_pod(cluster, f"p{number}", resourceClaimTemplateName="t")
        found = await all_settled(cluster, count)
        assert {pod.state for pod in found.values()} == {"ready"}, found
        await all_gone(cluster)
        await cluster.store.wait_for(lambda: not list(cluster.store.list(CLAIM)))
