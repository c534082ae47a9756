"""tuning: settings of a link that another plugin made, and of its container's network.

Configuration: `sysctl` (IFNAME in a key is the link), `mac`, `promisc`, `mtu`, `allmulti`,
`txQLen`, `dataDir`; the MAC also as capability and in CNI_ARGS, all of them also in `args.cni`.
DEL puts the link's settings back, for links that go on to live on the host; sysctls end with the
container.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import structlog

from netclaim.cni import Endpoint, Result
from netclaim.errors import NetclaimError
from netclaim.kernel import Link, NamespaceGoneError, find_link
from netclaim.kernel.host.sysctls.sysctl import read_sysctl, write_sysctl
from netclaim.kernel.state.link_settings import link_settings
from netclaim.paths import Key
from netclaim.plugins.engine.conf import MTU_MAX, U32, Conf
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Asked, Invocation, Plugin
from netclaim.plugins.engine.pod import Pod, open_pod
from netclaim.plugins.shared.mac import MacOffer, check_mac, chosen_mac, mac_of_args
from netclaim.plugins.tuning.backup import Backup, LinkTuning
from netclaim.plugins.tuning.sysctls import (
    ALLOWLIST,
    check_allowed,
    read_sysctls,
    sysctl_path,
    sysctls_by_path,
)

DATA_DIR = "/run/cni/tuning"

log = structlog.get_logger(__name__)


class LinkKeys(Conf, frozen=True):
    """What can be asked of the link, in two places."""

    mac: Annotated[str | None, KeyRule("the interface's MAC", check=check_mac)] = None
    promisc: Annotated[bool | None, KeyRule("also receive frames for others")] = None
    mtu: Annotated[U32 | None, KeyRule("the interface's MTU", high=MTU_MAX)] = None
    allmulti: Annotated[bool | None, KeyRule("receive all multicast")] = None
    tx_q_len: Annotated[U32 | None, KeyRule("the length of the transmit queue")] = None


class Args(Conf, frozen=True):
    """What stands under `args`."""

    cni: LinkKeys = LinkKeys()


class BackupConf(Conf, frozen=True):
    """The one key that DEL needs."""

    data_dir: Annotated[str, KeyRule("the directory on the node for saved settings")] = ""


class TuningConf(LinkKeys, frozen=True):
    """The keys of the link, from all who may set them."""

    runtime_config: MacOffer = MacOffer()
    args: Args = Args()


class SysctlConf(Conf, frozen=True):
    """The key that `sysctls` reads."""

    sysctl: Annotated[
        dict[str, str | None] | None,
        KeyRule("kernel settings below `net`; IFNAME stands for the interface"),
    ] = None


class Tuning(Plugin):
    confs = (TuningConf, BackupConf, SysctlConf)
    needs_previous = True
    takes_mac = True

    @classmethod
    def refuse(cls, raw: Mapping[str, Any], asked: Asked) -> None:
        """A setting that is none of the network's, or is there twice."""
        sysctls = raw.get("sysctl", {})
        for key in sysctls:
            try:
                sysctl_path(key, asked.ifname)
            except ConfError as error:
                raise ConfError(str(error), path=("sysctl", Key(key))) from error
        sysctls_by_path(sysctls, asked.ifname)

    def __init__(self, *, allowlist: Path = ALLOWLIST) -> None:
        self._allowlist = allowlist

    async def add(self, invocation: Invocation) -> Result:
        """Set everything; a link that refuses some of it is as it was."""
        sysctls = read_sysctls(invocation)
        check_allowed(sysctls, self._allowlist)
        wanted = _wanted(invocation)
        previous = invocation.required_previous()
        endpoint = invocation.endpoint
        by_path = sysctls_by_path(sysctls, endpoint.ifname)
        with open_pod(endpoint.netns) as pod:
            pod.inside(lambda: _set_sysctls(by_path))
            if wanted != LinkTuning():
                await _tune(pod, endpoint, wanted, _backup(invocation))
        return _with_mac(previous, endpoint.ifname, wanted.mac)

    async def delete(self, invocation: Invocation) -> None:
        """Put the link's settings back, as far as it takes them; may be repeated."""
        backup = _backup(invocation)
        before = backup.read()
        if before is not None:
            await _restore(invocation.endpoint, before)
        backup.drop()

    async def check(self, invocation: Invocation) -> None:
        """See that everything is as it was set."""
        sysctls = read_sysctls(invocation)
        wanted = _wanted(invocation)
        invocation.required_previous()
        ifname = invocation.endpoint.ifname
        by_path = sysctls_by_path(sysctls, ifname)
        with open_pod(invocation.endpoint.netns) as pod:
            pod.inside(lambda: _check_sysctls(by_path))
            link = await pod.link(ifname)
            promiscuous = await _is_promiscuous(pod, link)
            if promiscuous != bool(wanted.promisc):
                raise PluginError(f"link {ifname}: promisc is {promiscuous}")
            now = wanted.now(link, promiscuous=promiscuous)
            if now != wanted:
                raise PluginError(f"link {ifname} has {now.written()}, not {wanted.written()}")


def _backup(invocation: Invocation) -> Backup:
    directory = invocation.conf(BackupConf).data_dir or DATA_DIR
    return Backup(directory, invocation.endpoint.key)


def _wanted(invocation: Invocation) -> LinkTuning:
    """Return what is asked of the link; what `args.cni` says counts over the plugin's own keys."""
    conf = invocation.conf(TuningConf)
    over = conf.args.cni
    offered = (conf.mac or "", mac_of_args(invocation.endpoint), conf.runtime_config.mac)
    promisc = conf.promisc if over.promisc is None else over.promisc
    return LinkTuning(
        mac=chosen_mac(*offered) if over.mac is None else chosen_mac(over.mac),
        promisc=promisc or None,
        mtu=(conf.mtu if over.mtu is None else over.mtu) or 0,
        allmulti=conf.allmulti if over.allmulti is None else over.allmulti,
        txqlen=conf.tx_q_len if over.tx_q_len is None else over.tx_q_len,
    )


async def _tune(pod: Pod, endpoint: Endpoint, wanted: LinkTuning, backup: Backup) -> None:
    link = await pod.link(endpoint.ifname)
    before = wanted.now(link, promiscuous=await _is_promiscuous(pod, link))
    backup.keep(before)
    try:
        await pod.rtnl.call(wanted.request(link))
    except NetclaimError:
        await _restore(endpoint, before)
        backup.drop()
        raise


async def _restore(endpoint: Endpoint, before: LinkTuning) -> None:
    """Put settings back; a link or a namespace that is gone has none."""
    try:
        with open_pod(endpoint.netns) as pod:
            link = await find_link(pod.rtnl, endpoint.ifname)
            if link is not None:
                await pod.rtnl.batch([setting.request(link) for setting in before.each()])
    except NamespaceGoneError:
        return
    except NetclaimError as error:  # a container shall end all the same
        log.warning("plugins.tuning_not_restored", ifname=endpoint.ifname, error=str(error))


async def _is_promiscuous(pod: Pod, link: Link) -> bool:
    settings = await link_settings(pod.rtnl, link.name)
    return settings is not None and settings.promiscuity > 0


def _set_sysctls(by_path: dict[str, str]) -> None:
    for path, value in by_path.items():
        write_sysctl(path, value)


def _check_sysctls(by_path: dict[str, str]) -> None:
    for path, value in by_path.items():
        now = read_sysctl(path)
        if now.split() != value.split():  # the kernel separates several numbers by tabs
            raise PluginError(f"sysctl {path} is {now!r}, not {value!r}")


def _with_mac(result: Result, ifname: str, mac: str) -> Result:
    if not mac:
        return result
    interfaces = tuple(
        msgspec.structs.replace(link, mac=mac) if link.name == ifname else link
        for link in result.interfaces
    )
    return msgspec.structs.replace(result, interfaces=interfaces)
