"""link-settings: how packets are routed over a link that another plugin made, and its card's ways.

Configuration: `routes`, `rules`, `neighbors`, `ethtool`, `gsoMaxSize` and its like,
`disableEbpfPrograms`. All of it is in the container's namespace. The driver appends this plugin to
a network for the parameters of the same names.
Promise: ADD that fails has undone what it did. DEL removes rules, routes and neighbours; offloads
and sizes are put back by the plugin that lent the link (host-device), or end with it.
Limit: where a program lent the link, its offloads and sizes stay as they were set.
"""

from msgspec.structs import replace

from netclaim.cni import Result
from netclaim.errors import NetclaimError
from netclaim.kernel import Link, NamespaceGoneError, find_link
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation, Plugin
from netclaim.plugins.engine.pod import Pod, open_pod
from netclaim.plugins.link_settings.conf import SettingsConf
from netclaim.plugins.link_settings.routing import (
    enter,
    in_order,
    missing_rule,
    remove,
    reported,
    usual_table,
)
from netclaim.plugins.link_settings.tuning import Before, as_it_is, other_size, put_back, tune
from netclaim.plugins.shared.checks import check_routes
from netclaim.plugins.shared.configure import settle


class LinkSettings(Plugin):
    confs = (SettingsConf,)
    needs_previous = True

    async def add(self, invocation: Invocation) -> Result:
        """Set everything; the routes become part of the result."""
        conf = _conf(invocation)
        previous = invocation.required_previous()
        with open_pod(invocation.endpoint.netns) as pod:
            link = await pod.link(invocation.endpoint.ifname)
            before = await as_it_is(pod.rtnl, link)
            routes = in_order(conf, await usual_table(pod.rtnl, link))
            try:
                await tune(pod, link, conf)
                if any(":" in route.source for route in routes):
                    await settle(pod, link)  # the kernel takes no source that is tentative
                await enter(pod.rtnl, link, conf, routes)
            except NetclaimError as error:
                await _undo_after(error, pod, link, conf, before)
                raise
        return replace(previous, routes=(*previous.routes, *reported(routes)))

    async def delete(self, invocation: Invocation) -> None:
        """Remove rules, routes and neighbours; may be repeated."""
        conf = _conf(invocation)
        try:
            with open_pod(invocation.endpoint.netns) as pod:
                link = await find_link(pod.rtnl, invocation.endpoint.ifname)
                table = await usual_table(pod.rtnl, link) if link is not None else 0
                await remove(pod.rtnl, link, conf, table)
        except NamespaceGoneError:
            return

    async def check(self, invocation: Invocation) -> None:
        """See that rules, routes and sizes are as they were set."""
        conf = _conf(invocation)
        invocation.required_previous()
        with open_pod(invocation.endpoint.netns) as pod:
            link = await pod.link(invocation.endpoint.ifname)
            routes = in_order(conf, await usual_table(pod.rtnl, link))
            await check_routes(pod.rtnl, reported(routes))
            rule = await missing_rule(pod.rtnl, conf)
            if rule is not None:
                raise PluginError(f"the rule for the table {rule.table} is missing")
            if other := await other_size(pod.rtnl, link, conf):
                raise PluginError(f"{link.name}: {other}")


def _conf(invocation: Invocation) -> SettingsConf:
    conf = invocation.conf(SettingsConf)
    for each in (conf, *conf.routes, *conf.rules, conf.ethtool):
        each.refuse()
    return conf


async def _undo_after(
    error: NetclaimError, pod: Pod, link: Link, conf: SettingsConf, before: Before
) -> None:
    try:
        await put_back(pod.rtnl, link, before)
        await remove(pod.rtnl, link, conf, await usual_table(pod.rtnl, link))
    except NetclaimError as second:
        error.add_note(f"and what was set before could not be put back: {second}")
