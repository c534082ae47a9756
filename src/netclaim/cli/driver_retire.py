"""`netclaim driver retire`: before a driver's pod ends, find out whether it is to come back.

Run by the pod's preStop hook. Promise: ends at once if the driver's DaemonSet exists, or if nobody
can say; otherwise the driver is told, and this ends when no pod uses its interfaces any more: until
then kubelet lets the driver run. Limit: kubelet ends both after the pod's grace period.
"""

import asyncio
import time
from typing import Final

from netclaim.chained import AGAIN, OK, Listing, encode_retire
from netclaim.cli.asking import NoDriverError, ask_driver
from netclaim.cli.setting_options import takes_settings
from netclaim.errors import NetclaimError, RequestError
from netclaim.framework import Settings
from netclaim.framework.setting_flags import settings_of
from netclaim.framework.setting_sources import Followed
from netclaim.kube import (
    Client,
    ForbiddenError,
    NotFoundError,
    Resource,
    UnauthorizedError,
    connect,
    load_cluster,
)
from netclaim.kube.resource import NODES

__all__ = ["command", "reason_to_retire"]

DAEMON_SETS: Final = Resource("apps", "v1", "daemonsets", "DaemonSet", namespaced=True)
LOOK_S: Final = 2.0  # between looks at what is still in use
ASK_S: Final = 20.0  # for the API server; a driver that ends for an update must not wait for it


@takes_settings("name", "run_dir", "kubeconfig", "node_name", "instance", "daemon_set")
def command(followed: Followed) -> None:
    """Tell the driver on this node that it will not come back, if that is so.

    Asks the API server whether the driver's DaemonSet still exists. If it was deleted, the driver
    prepares no more claims, and this command waits until all pods that have interfaces of it have
    ended. When it is stopped then, the driver removes what it left on the node. Meant for the
    preStop hook of the driver's pod.
    """
    settings, name = settings_of(followed.started), followed.started["name"]
    why = asyncio.run(_find_out(settings))
    if not why:
        print("the driver is to come back: nothing to do")
        return
    print(f"the driver retires: {why}")
    path = settings.run_dir / name / "attach.sock"
    before: tuple[str, ...] = ()
    while True:
        try:
            answer = ask_driver(path, encode_retire(settings.instance))
        except NoDriverError:
            print("no driver answers any more")
            return
        if answer in {OK, AGAIN}:  # nothing is left; or a newer process does the work
            return
        held = answer.lines if isinstance(answer, Listing) else (str(answer),)
        if held != before:
            print(f"waiting for: {', '.join(held)}", flush=True)
            before = held
        time.sleep(LOOK_S)


async def _find_out(settings: Settings) -> str:
    """Why the driver will not come back; nothing if it will, or if that cannot be found out."""
    namespace, _, name = settings.daemon_set.partition("/")
    if not namespace or not name:
        raise RequestError(
            f"{settings.daemon_set!r} is not a DaemonSet; for example netclaim-system/netclaim",
            path=("--daemon-set",),
        )
    try:
        async with asyncio.timeout(ASK_S), connect(load_cluster(settings.kubeconfig)) as client:
            return await reason_to_retire(client, settings.node_name, settings.daemon_set)
    except (NetclaimError, TimeoutError) as error:
        print(f"cannot find out whether {settings.daemon_set} exists: {str(error) or 'no answer'}")
        return ""


async def reason_to_retire(client: Client, node: str, daemon_set: str) -> str:
    """Why the driver will not come back; nothing if it will. Raises if nobody can say."""
    namespace, _, name = daemon_set.partition("/")
    try:
        found = await client.get(DAEMON_SETS, name, namespace=namespace)
    except NotFoundError:
        return f"the DaemonSet {daemon_set} was deleted"
    except UnauthorizedError:
        return "the driver's service account was deleted"
    except ForbiddenError:
        if await _may_read_node(client, node):
            raise  # only the right to ask this is missing
        return "the driver's roles were deleted"
    if found["metadata"].get("deletionTimestamp"):
        return f"the DaemonSet {daemon_set} is being deleted"
    return ""


async def _may_read_node(client: Client, node: str) -> bool:
    try:
        await client.get(NODES, node)
    except (ForbiddenError, UnauthorizedError):
        return False
    return True
