"""Settings: what can be set about the network driver.

fields    each setting with its default and the reason for it
readers   what was written, made into values
per_link  settings with a value for each link
"""

from netclaim.network.settings.fields import (
    ATTACHMENTS_DEFAULT,
    REMOVED,
    SLOTS_DEFAULT,
    LinkSettings,
    LiveSettings,
    check_together,
    declared,
    link_settings,
)

__all__ = [
    "ATTACHMENTS_DEFAULT",
    "REMOVED",
    "SLOTS_DEFAULT",
    "LinkSettings",
    "LiveSettings",
    "check_together",
    "declared",
    "link_settings",
]
