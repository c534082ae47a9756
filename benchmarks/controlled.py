"""The controller as a process of its own, beside an embedded API server, for `controller`.

Usage: `python -m benchmarks.controlled URL FILE`. At its end, by SIGTERM, it writes the API
requests that it made and its processor time into the file.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import structlog

from netclaim.controller.process.run import Controller
from netclaim.controller.settings import ControllerSettings
from netclaim.kube import Answered, Cluster, StoredSecrets, connect
from netclaim.model.claims.claim import JsonObject
from netclaim.tasks import race

__all__ = ["main"]


async def run(url: str) -> JsonObject:
    """Run until SIGTERM; returns what was used."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    requests: Counter[str] = Counter()

    def observe(answered: Answered) -> None:
        requests[answered.verb] += 1

    cluster = Cluster(server=url, credentials=StoredSecrets())
    async with connect(cluster, observe) as client:
        controller = await Controller.of(client, ControllerSettings())
        await race(stop.wait(), controller.run())
    used = os.times()
    return {"requests": requests, "cpu_s": used.user + used.system}


def main() -> None:
    """Run, and write down what was used."""
    url, file = sys.argv[1:]
    Path(file).write_text(json.dumps(asyncio.run(run(url))))


if __name__ == "__main__":
    main()
