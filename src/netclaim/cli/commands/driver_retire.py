"""`netclaim driver retire`: before a driver's pod ends, find out whether it will come back.

The pod's preStop hook runs this. Promise: it ends at once if the driver's DaemonSet exists, or if
that cannot be found out; a refused token is tried for a dozen seconds. Otherwise it notifies the
driver, and ends when no pod uses its interfaces any more, or when the DaemonSet is there after all:
until then kubelet lets the driver run, and the DaemonSet's controller starts no other one. Limit:
kubelet ends both after the pod's grace period.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

from netclaim.chained import AGAIN, OK, Answer, Listing, encode_retire
from netclaim.cli.asking import NoDriverError, ask_driver
from netclaim.cli.options.settings import takes_settings
from netclaim.errors import NetclaimError, RequestError
from netclaim.framework import Settings
from netclaim.framework.settings.flags import settings_of
from netclaim.framework.settings.sources import Followed
from netclaim.kube import (
    Client,
    ForbiddenError,
    NotFoundError,
    UnauthorizedError,
    connect,
    load_cluster,
)
from netclaim.kube.resource import DAEMON_SETS, NODES

LOOK_S: Final = 2.0  # between looks at what is still in use
# So many looks make a minute. An API server that is starting refuses everybody for a moment.
LOOKS_UNTIL_ASKED: Final = 30
ASK_S: Final = 20.0  # for the API server; a driver that ends for an update must not wait for it
# A token is refused for good once its account is deleted, and for a moment by an API server that is
# starting. Believing it too early keeps the next driver from the node for a minute; asking for long
# means to go on preparing claims on a node that the driver is to leave.
UNAUTHORIZED_S: Final = (2.0, 4.0, 6.0)


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
    ask = partial(ask_driver, settings.run_dir / name / "attach.sock")
    wait_for_pods(
        lambda: ask(encode_retire(settings.instance)),
        came_back=lambda: asyncio.run(_find_out(settings)) == "",
        pause=lambda: time.sleep(LOOK_S),
    )


def wait_for_pods(
    ask: Callable[[], Answer], *, came_back: Callable[[], bool], pause: Callable[[], None]
) -> None:
    """Return when the driver holds nothing any more, or need not be the last one."""
    before: tuple[str, ...] = ()
    looks = 0
    while True:
        try:
            answer = ask()
        except NoDriverError:
            print("no driver answers any more")
            return
        if answer in {OK, AGAIN}:  # nothing is left; or a newer process does the work
            return
        held = answer.lines if isinstance(answer, Listing) else (str(answer),)
        if held != before:
            print(f"waiting for: {', '.join(held)}", flush=True)
            before = held
        pause()
        looks += 1
        if looks % LOOKS_UNTIL_ASKED == 0 and came_back():
            print("the driver is to come back after all")
            return


async def _find_out(settings: Settings) -> str | None:
    """Return why the driver will not come back; "" if it will, None if nobody can say."""
    namespace, _, name = settings.daemon_set.partition("/")
    if not namespace or not name:
        raise RequestError(
            f"{settings.daemon_set!r} is not a DaemonSet; for example netclaim-system/netclaim",
            path=("--daemon-set",),
        )

    async def ask() -> str:  # by a new connection, with the current token
        async with asyncio.timeout(ASK_S), connect(load_cluster(settings.kubeconfig)) as client:
            return await reason_to_retire(client, settings.node_name, settings.daemon_set)

    try:
        return await make_sure(ask, pause=asyncio.sleep)
    except (NetclaimError, TimeoutError) as error:
        print(f"cannot find out whether {settings.daemon_set} exists: {str(error) or 'no answer'}")
        return None


async def make_sure(
    ask: Callable[[], Awaitable[str]], *, pause: Callable[[float], Awaitable[None]]
) -> str:
    """Return the API server's final answer: a refused token is not believed at once."""
    for pause_s in UNAUTHORIZED_S:
        with suppress(UnauthorizedError):
            return await ask()
        await pause(pause_s)
    try:
        return await ask()
    except UnauthorizedError:
        return "the driver's service account was deleted"


async def reason_to_retire(client: Client, node: str, daemon_set: str) -> str:
    """Return why the driver will not come back; "" if it will. Raises if nobody can say."""
    namespace, _, name = daemon_set.partition("/")
    try:
        found = await client.get(DAEMON_SETS, name, namespace=namespace)
    except NotFoundError:
        return f"the DaemonSet {daemon_set} was deleted"
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
    except ForbiddenError:
        return False
    return True
