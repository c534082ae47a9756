"""Settings: what can be set about a driver. Authors declare settings of their own in the same way.

declare  how a setting is declared
fields   the settings that every driver has
sources  flag, variable, file, default: which of them is used
file     the file of settings; `reload` follows it
reload   what a change of the file does to a driver that runs
flags    the settings of a program that an author builds
"""

from netclaim.framework.settings.declare import Removed, Setting, declared_in, fill, setting
from netclaim.framework.settings.fields import seconds, subdomain
from netclaim.framework.settings.sources import Followed, Resolved, Sources

__all__ = [
    "Followed",
    "Removed",
    "Resolved",
    "Setting",
    "Sources",
    "declared_in",
    "fill",
    "seconds",
    "setting",
    "subdomain",
]
