"""The reusable DRA driver framework: the contract, and the stages around it.

    contract   what an author writes, and what the framework promises
    serving    a driver as a program, until SIGTERM: `serve`
    testing    an examination of a driver against the contract
    kube_api   what the stages ask of the API server

    discover, publish, prepare, attach, report  the five verbs, a package each
    collect    what belongs to no pod or claim any more
    journal    what has to survive a crash
    process    the parts put together, and the life of the process
    settings   what can be set about a driver; public
    telemetry  logs, metrics and traces; public in part
    tools      time, locks, turns, rates, trying again

`serve(MyDriver())` is a whole program. docs/framework.md lists what is public and stable.

`serve` and `run_driver` are imported at their first use: they bring in every edge, and commands
that only read settings, or the errors of a driver, have to start quickly without them.
"""

from typing import TYPE_CHECKING

from netclaim.framework.contract import (
    Driver,
    Hold,
    LaterError,
    NetworkDriver,
    NotBegunError,
    Objects,
    UnfitError,
)
from netclaim.framework.settings.fields import Settings
from netclaim.framework.settings.flags import add_flags, settings_from, settings_from_command_line

if TYPE_CHECKING:
    from netclaim.framework.serving import run_driver, serve
else:

    def __getattr__(name: str) -> object:
        if name not in {"run_driver", "serve"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from netclaim.framework import serving  # noqa: PLC0415 - only for its two names

        return getattr(serving, name)


__all__ = [
    "Driver",
    "Hold",
    "LaterError",
    "NetworkDriver",
    "NotBegunError",
    "Objects",
    "Settings",
    "UnfitError",
    "add_flags",
    "run_driver",
    "serve",
    "settings_from",
    "settings_from_command_line",
]
