"""What `netclaim try` lets a user set about its drivers: some options, and the driver's file.

Promise: checked as the driver would, before anything starts; the drivers get what the user said and
nothing else, so that the order among options and file is theirs too. Limit: the environment does
not count: a variable that is set on this machine may be meant for a real cluster.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from netclaim.framework.setting_sources import CONFIG_OPTION, Sources
from netclaim.network.policy import Level
from netclaim.network.settings import REMOVED, check_together, declared

__all__ = ["TrialSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSettings:
    """As the user said them, by the names of the settings' fields; None: not at all."""

    config: Path | None = None
    attachments: list[str] | None = None
    link_bandwidth: list[str] | None = None
    link_filter: str | None = None
    show_links: str | None = None
    policy: str | None = None

    def policy_level(self, driver_names: Sequence[str]) -> Level:
        """Check everything for each driver; the policy level of namespaces without a label."""
        level = Level.BASELINE
        for name in driver_names:
            given = {**self._given(), "name": name}
            sources = Sources(declared(), given, self.config, check=check_together, removed=REMOVED)
            level = sources.read()["policy"]
        return level

    def flags(self) -> tuple[str, ...]:
        """What to start the drivers with."""
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
