"""Plain pods that are started and ended one after another all the while, from another thread.

A driver that is hurt must not hurt pods that have nothing to do with it: each of them must become
ready and go. How long that took is measured; the runtime itself may be what is broken meanwhile.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from faults.api import AwayError
from faults.manifests import plain_pod
from faults.site import POLL_S, Site

__all__ = ["SteadyPods"]

LIMIT_S = 240.0  # for one pod to come or go; as long as a burst may take to settle


class SteadyPods:
    """Runs while its block does; the last pod is waited for at the end."""

    def __init__(self, site: Site, burst: str) -> None:
        self._api = site.api
        self._burst = burst
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="steady", daemon=True)
        self.took_s: list[float] = []  # until ready
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        if kind is not KeyboardInterrupt:
            self._thread.join(2 * LIMIT_S + 30)

    def _run(self) -> None:
        number = 0
        while not self._ending.is_set():
            name = f"{self._burst}-s{number}"
            number += 1
            started = time.monotonic()
            if not self._await(self._create, name):
                return  # nobody answered to the end
            if not self._await(self._is_ready, name):
                self.failures.append(f"plain pod {name} did not become ready in {LIMIT_S:g} s")
                return
            self.took_s.append(time.monotonic() - started)
            if not self._await(self._is_gone, name):
                self.failures.append(f"plain pod {name} did not go in {LIMIT_S:g} s")
                return

    def _await(self, what: Callable[[str], bool], name: str) -> bool:
        """Whether something holds of a pod before long."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            try:
                if what(name):
                    return True
            except AwayError:  # part of some faults
                pass
            time.sleep(POLL_S)
        return False

    def _create(self, name: str) -> bool:
        self._api.create(plain_pod(name))
        return True

    def _is_ready(self, name: str) -> bool:
        pod = self._api.get("pods", name)
        conditions = pod["status"].get("conditions", []) if pod else []
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    def _is_gone(self, name: str) -> bool:
        pod = self._api.get("pods", name)
        if pod is not None and "deletionTimestamp" not in pod["metadata"]:
            self._api.delete("pods", name)
        return pod is None
