"""Judge what link-settings is asked, by a claim's parameters or as a plugin of its network.

Promise: the same is refused in both places. No I/O. Who may set which key at all, the table says.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from netclaim.errors import RequestError
from netclaim.network.judge.addresses import address_fault
from netclaim.network.judge.carried import carried_by_settings
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing, needs_level
from netclaim.paths import Path
from netclaim.plugins.engine.conf import lowered, read_conf
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.link_settings.conf import SettingsConf


def settings_faults(
    settings: Mapping[str, Any],
    paths: Mapping[str, Path],
    standing: Standing,
    *,
    vouched: Collection[str] = (),
) -> Iterator[RequestError]:
    """Yield what is wrong below `privileged`; `paths` says where each key was written.

    `vouched` are the keys that the claim's class allows.
    """
    try:
        read = read_conf(lowered(dict(settings)), SettingsConf)
        found = carried_by_settings(settings)
    except ConfError as error:
        key = str(error.path[0]) if error.path else next(iter(settings), "")
        yield RequestError(str(error), path=(*paths.get(key, (key,)), *error.path[1:]))
        return
    for each in found:
        key, inner = str(each.path[0]), each.path[1:]
        placed = each.placed((*paths.get(key, (key,)), *inner))
        if fault := address_fault(placed, standing, vouched=key in vouched):
            yield fault
    if read.ethtool.private_flags and "ethtool" not in vouched:
        path = (*paths.get("ethtool", ("ethtool",)), "privateFlags")
        yield needs_level(Level.PRIVILEGED, path, standing)
