"""Options of trials, and the drivers' settings in `netclaim try`: some options, and a file.

Promise: the settings are checked as the driver would, before anything starts; the drivers get
exactly what the user gave, so that they also decide the order among options and file. Limit: the
environment is ignored, because a variable that is set on this machine may be meant for a real
cluster.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from netclaim.network.policy.levels import Level

Keep: TypeAlias = Annotated[
    bool, typer.Option("--keep", help="Keep the cluster up, and print how to explore it.")
]
CniBinDirs: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        help="A directory of CNI plugin programs, for types that are not built into netclaim.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSettings:
    """What the user gave, by the names of the settings' fields; None if it was not given."""

    config: Path | None = None
    attachments: list[str] | None = None
    link_bandwidth: list[str] | None = None
    link_filter: str | None = None
    show_links: str | None = None
    policy: str | None = None

    def policy_level(self, driver_names: Sequence[str]) -> Level:
        """Check everything for each driver; returns the level of namespaces without a label."""
        from netclaim.framework.settings.sources import Sources
        from netclaim.network.settings import REMOVED, check_together, declared

        level = Level.BASELINE
        for name in driver_names:
            given = {**self._given(), "name": name}
            sources = Sources(declared(), given, self.config, check=check_together, removed=REMOVED)
            level = sources.read()["policy"]
        return level

    def flags(self) -> tuple[str, ...]:
        """Return the options to start the drivers with."""
        from netclaim.framework.settings.sources import CONFIG_OPTION
        from netclaim.network.settings import declared

        given = self._given()
        said = {each.option: given[each.name] for each in declared() if each.name in given}
        flags = [
            f"{option}={value}"
            for option, values in said.items()
            for value in (values if isinstance(values, list) else [values])
        ]
        file = () if self.config is None else (f"{CONFIG_OPTION}={self.config.absolute()}",)
        return (*file, *flags)

    def _given(self) -> dict[str, object]:
        said = {name: value for name, value in asdict(self).items() if name != "config"}
        return {name: value for name, value in said.items() if value}
