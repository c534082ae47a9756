"""Where a driver keeps its files and sockets on a node. Paths are the same on the host. No I/O."""

from dataclasses import dataclass
from pathlib import Path

from netclaim.chained import PluginEntry
from netclaim.framework.settings.fields import Settings

PROGRAM = "netclaim-attach"


@dataclass(frozen=True, slots=True)
class NodePlaces:
    journal: Path
    socket: Path  # where the chained plugin asks
    plans: Path  # what it looks at before it asks
    seat: Path  # where a newer process of the driver asks for the work
    program: Path  # what holds containers; /run may not be executable, kubelet's directory is
    metadata: Path  # what containers are given to read; it stays for as long as they are restarted
    kubelet_state: Path  # what kubelet knows of pods and claims

    @classmethod
    def of(cls, settings: Settings, driver: str) -> "NodePlaces":
        own = settings.run_dir / driver
        plugin = settings.kubelet_dir.absolute() / "plugins" / driver
        return cls(
            journal=settings.state_dir / driver / "journal.db",
            socket=own / "attach.sock",
            plans=own / "plans",
            seat=own / "seat.sock",
            program=plugin / PROGRAM,
            metadata=plugin / "metadata",
            kubelet_state=settings.kubelet_dir.absolute() / "dra_manager_state",
        )

    def entry(self, driver: str) -> PluginEntry:
        """The plugin's entry in the runtime's network configuration."""
        return PluginEntry(
            driver=driver,
            socket=str(self.socket),
            plans=str(self.plans),
            kubelet_state=str(self.kubelet_state),
        )
