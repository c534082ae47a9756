"""How the driver is run: its DaemonSet, its pods, its version and its settings.

The settings are read from the ConfigMap that the DaemonSet mounts, and checked as the driver checks
them. Limit: settings by environment variables or flags are not looked at.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from netclaim import __version__
from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Finding, check, error, ok, skipped, warning
from netclaim.errors import RequestError, faults_in
from netclaim.framework.settings.sources import CONFIG_VARIABLE, Sources
from netclaim.kube import ForbiddenError, NotFoundError, Resource
from netclaim.model.claims.claim import JsonObject
from netclaim.network.settings import check_together, declared
from netclaim.screen.words import listed
from netclaim.survey.driver_pods import DRIVER_PODS, DriverPod

CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
NO_DAEMON_SET: Final = "no DaemonSet of the driver is visible"


@check(
    "driver-pods",
    "Pods of the driver",
    why="a node without the driver publishes no devices, and its pods with claims do not start",
)
async def daemon_set(cluster: ClusterSight) -> Finding:
    """Look at the driver's DaemonSet, and at which of its pods are not ready."""
    found = await cluster.daemon_set()
    space = await cluster.namespace()
    if found is None:
        return await _without_daemon_set(cluster, space)
    status = found.get("status") or {}
    wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
    name = found["metadata"]["name"]
    if not wanted:
        return error(
            f"the DaemonSet {space}/{name} selects no node",
            f"kubectl -n {space} get daemonset {name} -o yaml, and look at nodeSelector, affinity"
            " and tolerations",
        )
    if ready < wanted:
        pods = map(DriverPod.read, await cluster.driver_pods())
        bad = [pod for pod in pods if not pod.is_ready and not pod.is_leaving]
        return error(
            f"{ready} of {wanted} pods of {space}/{name} are ready; not on"
            f" {listed([_where(pod) for pod in bad]) or 'some nodes'}",
            _remedy(bad[0]) if bad else f"kubectl -n {space} get pods",
        )
    updated = status.get("updatedNumberScheduled", 0)  # which is left out if it is 0
    stuck = [pod for pod in map(DriverPod.read, await cluster.driver_pods()) if pod.stuck]
    if stuck:  # beside the old pod, which works on
        return error(
            f"the update of {space}/{name} is stuck on {listed([_where(pod) for pod in stuck])};"
            " the old pod works on there, and other nodes are not updated",
            _remedy(stuck[0]),
        )
    if updated < wanted:
        return warning(
            f"{wanted - updated} of {wanted} pods of {space}/{name} are of an older revision",
            f"kubectl -n {space} rollout status daemonset {name}",
        )
    return ok(f"{ready} of {wanted} pods of {space}/{name} are ready")


@check(
    "driver-version",
    "Version of the driver",
    why="policies, permissions and programs are compared with those of this command's version",
)
async def driver_version(cluster: ClusterSight) -> Finding:
    """Compare the tag of the driver's image with the version of this command."""
    found = await cluster.daemon_set()
    if found is None:
        return skipped(NO_DAEMON_SET)
    image = str(found["spec"]["template"]["spec"]["containers"][0].get("image", ""))
    _, colon, tag = image.rpartition("/")[2].partition(":")
    if not colon or "@" in tag:
        return skipped(f"{image} does not say its version")
    if tag != __version__:
        return warning(
            f"the driver is {tag}, this command is {__version__}",
            f"install version {tag} of this command; the one in the driver's container has the"
            " driver's rights, and sees little of the cluster",
        )
    return ok(tag)


@check(
    "driver-settings",
    "Settings of the driver",
    why="with a mistake in them a driver that runs keeps those it had, and one that is started"
    " does not run",
)
async def driver_settings(cluster: ClusterSight) -> Finding:
    """Read the driver's settings file as the driver reads it."""
    found = await cluster.daemon_set()
    if found is None:
        return skipped(NO_DAEMON_SET)
    file = _settings_file(found["spec"]["template"]["spec"])
    if file is None:
        return skipped("the driver has no file of settings in a ConfigMap")
    space = await cluster.namespace()
    whole = f"{space}/{file.config_map}"
    again = f"correct `settings` in the values, and `helm upgrade`; or `kubectl -n {space} edit"
    remedy = f"{again} configmap {file.config_map}`"
    try:
        made = await cluster.client.get(CONFIG_MAPS, file.config_map, namespace=space)
    except NotFoundError:
        return error(f"there is no ConfigMap {whole}, so no driver can start", remedy)
    text = (made.get("data") or {}).get(file.key)
    if text is None:
        return error(f"the ConfigMap {whole} has no {file.key}, so no driver can start", remedy)
    faults = _faults(text, file.key, cluster.driver)
    if faults:
        return error(f"ConfigMap {whole}: {'; '.join(faults)}", remedy)
    return ok(f"{whole} is valid")


class _SettingsFile(NamedTuple):
    config_map: str
    key: str


def _settings_file(spec: JsonObject) -> _SettingsFile | None:
    """Return the key of a mounted ConfigMap that the driver's variable names, if it does."""
    maps = {
        each["name"]: each["configMap"]["name"]
        for each in spec.get("volumes") or ()
        if each.get("configMap")
    }
    for container in spec.get("containers") or ():
        said = {each["name"]: each.get("value", "") for each in container.get("env") or ()}
        path = PurePosixPath(said.get(CONFIG_VARIABLE, ""))
        for mount in container.get("volumeMounts") or ():
            if PurePosixPath(mount["mountPath"]) == path.parent and mount["name"] in maps:
                return _SettingsFile(maps[mount["name"]], path.name)
    return None


def _faults(text: str, key: str, driver: str) -> Sequence[str]:
    """Return what is wrong with the settings, with line and key."""
    faults: list[str] = []
    sources = Sources(declared(), {"name": driver}, Path(key), check=check_together)
    try:
        sources.read(text.encode())
    except* RequestError as group:
        faults += map(str, faults_in(group))
    return faults


async def _without_daemon_set(cluster: ClusterSight, space: str) -> Finding:
    """Report drivers that are left over from an uninstall, or that there is nothing to see."""
    leaving: list[str] = []
    with suppress(NotFoundError, ForbiddenError):
        pods = map(DriverPod.read, await cluster.driver_pods())
        leaving = [_where(pod) for pod in pods if pod.is_leaving]
    if not leaving:
        return skipped(
            f"no DaemonSet that you may see has the label {DRIVER_PODS}; the driver runs in another"
            " way, or not at all"
        )
    return warning(
        f"the driver is being uninstalled; on {listed(leaving)} it stays until the last pod with an"
        " interface has ended, and prepares no more claims",
        f"`kubectl -n {space} logs POD | grep retire.begun` lists what it waits for; installing it"
        " again takes over",
    )


def _remedy(pod: DriverPod) -> str:
    """Return how to find out more: in a container that does not run, nothing can be executed."""
    kubectl = f"kubectl -n {pod.namespace}"
    if pod.node and pod.is_running:
        exec_ = f"{kubectl} exec {pod.name} -- netclaim doctor --node"
        return f"{kubectl} logs {pod.name}; {exec_}"
    if pod.node and pod.has_restarted:
        return f"{kubectl} logs {pod.name} --previous"
    return f"{kubectl} describe pod {pod.name}"


def _where(pod: DriverPod) -> str:
    """Return the node of a pod, and what keeps its container from running."""
    node, reason = pod.node or "no node yet", pod.reason("waiting")
    return f"{node} ({reason})" if reason else node
