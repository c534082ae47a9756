"""Hold a pod's container until the pod has everything: by a program that the runtime executes.

The program (see `chained`) asks the driver's socket, and refuses the container if the driver says
so, or is away and had not noted that the sandbox is complete. It gets into containers by NRI, and
by CDI into those that name their claim, where no driver is needed any more. No I/O.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri import ContainerHook

SPARE_S: Final = 5  # for the answer, after the driver has given an attach up


@dataclass(frozen=True, slots=True)
class Hold:
    """Where the program is, and what it has to know; all paths are the host's."""

    program: Path
    socket: Path
    attached_dir: Path
    limit_s: float

    def hook(self, pod: PodSandbox) -> ContainerHook:
        """What the runtime runs before a container of the pod."""
        return self._hook("--sandbox", pod.id, "--pod-uid", pod.uid)

    def claim_hook(self) -> ContainerHook:
        """The same for any container that names a claim; the runtime says which sandbox it is."""
        return self._hook()

    def _hook(self, *whose: str) -> ContainerHook:
        timeout_s = int(self.limit_s) + SPARE_S
        options = {
            "--socket": str(self.socket),
            "--attached": str(self.attached_dir),
            "--timeout": str(timeout_s),
        }
        words = [word for option in options.items() for word in option]
        args = (self.program.name, "wait", *words, *whose)
        return ContainerHook(str(self.program), args, timeout_s + SPARE_S)
