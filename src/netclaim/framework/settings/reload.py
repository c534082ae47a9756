"""Follow the file of settings while the driver runs.

The file is looked at every few seconds, by its content. A ConfigMap's file changes by a link that
kubelet swaps, some half a minute after the ConfigMap itself; so a few seconds more do not matter,
and looking works on every file system, where being notified of such a swap does not.

Promise: what can change in a running driver is changed at once, all of it or nothing. What cannot
is logged once, and counted until the process is restarted or the file is as it was. A file that
became invalid changes nothing; it is logged with its line, and counted.
Limit: flags and environment variables go before the file, as at the start.
"""

import asyncio
from dataclasses import replace
from typing import Final

import structlog

from netclaim.errors import NetclaimError, RequestError, faults_in
from netclaim.framework.settings.sources import Followed, Resolved
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import Clock

log = structlog.get_logger()

LOOK_S: Final = 2.0  # a look is one small file; kubelet looks at ConfigMaps once a minute


class Following:
    def __init__(self, followed: Followed, metrics: Metrics, clock: Clock) -> None:
        self._followed = followed
        self._metrics = metrics
        self._clock = clock
        self._in_force = followed.started
        self._content: bytes | None = None  # that was read last
        self._complaint = ""  # about the file as it is now
        self._waiting: tuple[str, ...] = ()  # keys of settings that wait for a restart

    async def run(self) -> None:
        overruled = list(self._followed.started.overruled)
        log.info("settings.read", file=str(self._followed.sources.path), overruled=overruled)
        while True:
            await self._clock.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Look at the file once, and take over what has changed."""
        sources = self._followed.sources
        faults: list[NetclaimError] = []
        seen, self._content = self._content, None  # it is new when it is back, if it is gone
        try:
            self._content = await asyncio.to_thread(sources.content)
            if self._content == seen:
                return
            resolved = sources.read(self._content)
        except* RequestError as group:
            faults = list(faults_in(group))
        if faults:
            self._refuse("; ".join(map(str, faults)))
        else:
            self._take_over(resolved)

    def _refuse(self, error: str) -> None:
        self._metrics.settings_valid.set(0)
        if error != self._complaint:
            log.warning("settings.invalid", error=error, hint="the settings stay as they were")
        self._complaint = error

    def _take_over(self, resolved: Resolved) -> None:
        self._complaint = ""
        self._metrics.settings_valid.set(1)
        started = self._followed.started
        later = tuple(each.key for each in resolved.changed(started) if not each.live)
        if later and later != self._waiting:
            log.warning("settings.restart_needed", settings=list(later))
        self._waiting = later
        self._metrics.settings_restart_needed.set(len(later))
        now = [each for each in resolved.changed(self._in_force) if each.live]
        if now:
            kept = {each.name: started[each.name] for each in resolved.table if not each.live}
            self._in_force = replace(resolved, values={**resolved.values, **kept})
            self._followed.change(self._in_force)
            log.info("settings.changed", settings=[each.key for each in now])
