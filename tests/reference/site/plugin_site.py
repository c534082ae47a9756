"""Run one CNI call after another, once with the reference programs and once in process.

Each way has a host and a pod of its own, both fresh namespaces alike down to their MACs, and a
directory for leases. The thread lives in the host while it runs.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netclaim.cni import (
    CniArgs,
    CniCall,
    CniError,
    Command,
    Endpoint,
    ExecPlugins,
    PluginMissingError,
    Plugins,
    PluginsByType,
    read_result,
)
from netclaim.cni.frozen_json import decode_json
from netclaim.cni.version import at_least
from netclaim.plugins import in_process_plugins
from netclaim.plugins.engine.errors import INTERNAL
from tests.reference.site.cni_site import inside, ip, namespace
from tests.reference.site.plugin_state import State, comparable, namespace_state, store_state
from tests.support.plugin_calls import printed

AMPLE_S = 60.0
WAYS = ("reference", "ours")
RESOLV_CONF = """
# a comment
nameserver 192.0.2.53
nameserver 2001:db8::53 trailing words
domain old.example
domain example
search a.example b.example
search c.example
options ndots:2 rotate
; nameserver 192.0.2.54
sortlist 192.0.2.0
nameserver
"""
NFT = Path(__file__).with_name("nft_program.py")


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration, and what is done with it."""

    name: str
    config: dict[str, Any]
    version: str = "1.1.0"
    args: CniArgs = ()
    host: tuple[str, ...] = ()  # commands of `ip` that prepare the host
    pod: tuple[str, ...] = ()  # and the pod
    steps: tuple[str, ...] = ("ADD", "CHECK", "DEL", "DEL")
    says: str = ""  # part of what both say when ADD fails, in whatever case
    tidy: bool = True  # False: the reference leaves things behind that DEL then removes

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True)
class Site:
    """One way to serve plugins, with its own host and pod."""

    way: str
    plugins: Plugins
    host: str
    pod: str
    directory: Path
    cni_path: Path
    previous: dict[str, Any] | None = None
    log: list[Any] = field(default_factory=list)

    def call(
        self,
        command: str,
        config: dict[str, Any],
        *,
        args: CniArgs = (),
        container_id: str = "c0ffee",
        ifname: str = "net1",
        netns: str | None = None,
    ) -> bytes:
        """Make one call; the way of it is this site's."""
        path = f"/run/netns/{self.pod}" if netns is None else netns
        about_one = command in {"ADD", "DEL", "CHECK"}
        call = CniCall(
            Command(command),
            config["type"],
            (str(self.cni_path),),
            decode_json(json.dumps(self.filled(config))),
            Endpoint(container_id, path, ifname, args) if about_one else None,
        )
        return asyncio.run(self._run(call))

    async def _run(self, call: CniCall) -> bytes:
        return await printed(self.plugins, call)

    def filled(self, config: Any) -> Any:
        """Put this site's directory where a configuration says DIR."""
        return json.loads(json.dumps(config).replace("DIR", str(self.directory)))

    def state(self) -> list[State]:
        """Return what is in host and pod."""
        return [namespace_state(self.host), namespace_state(self.pod)]


@contextmanager
def site_of(way: str, cni_plugins: Path, directory: Path) -> Iterator[Site]:
    """Make a host with the link eth1 and a pod; keep the calling thread inside the host."""
    directory.mkdir(parents=True)
    (directory / "resolv.conf").write_text(RESOLV_CONF)
    with ExitStack() as stack:
        host, pod = stack.enter_context(namespace()), stack.enter_context(namespace())
        ip("-n", host, *["link", "add", "eth1", "type", "veth", "peer", "name", "eth1-peer"])
        for number, link in enumerate(("eth1", "eth1-peer"), 1):
            ip("-n", host, "link", "set", link, "address", f"02:00:00:00:01:0{number}", "up")
        stack.enter_context(inside(host))
        programs = ExecPlugins(inherited=environment(directory), deadline_s=AMPLE_S)
        plugins: Plugins = programs
        if way == "ours":
            own = in_process_plugins(programs, state_dir=directory / "lent")
            plugins = PluginsByType(own, otherwise=programs)
        yield Site(way, plugins, host, pod, directory / "leases", cni_plugins)


def environment(directory: Path) -> dict[str, str]:
    """Return the environment of programs, with an `nft` that is nftables' own library."""
    program = directory / "bin" / "nft"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{NFT.read_text()}")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


def both(cni_plugins: Path, directory: Path, action: Callable[[Site], Any]) -> list[Any]:
    """Do the same in both ways; returns what each came to."""
    results = []
    for way in WAYS:
        with site_of(way, cni_plugins, directory / way) as site:
            results.append(action(site))
    return results


def play(site: Site, case: Case) -> list[Any]:
    """Do the steps of a case and write down what each gave and what it left."""
    for target, commands in ((site.host, case.host), (site.pod, case.pod)):
        for command in commands:
            ip("-n", target, *command.split())
    for step in case.steps:
        said = take(site, case, step)
        states = site.state()
        names = {site.host: "<host>", site.pod: "<pod>", str(site.directory): "<dir>"}
        kept = [{key: one[key] for key in one if key not in {"order", "macs"}} for one in states]
        shown = case.tidy or step == case.steps[-1]
        seen = [step, said, *([kept, store_state(site.directory)] if shown else [])]
        site.log.append(comparable(seen, states, names))
    return site.log


def take(site: Site, case: Case, step: str) -> Any:
    """Do one step; returns the result, or the code of the error."""
    config = case.config | {"name": "net", "cniVersion": case.version}
    if step in {"CHECK", "DEL"} and site.previous and at_least(case.version, "0.4.0"):
        config["prevResult"] = site.previous
    if step == "GC":
        config["cni.dev/valid-attachments"] = []
    try:
        output = site.call(step, config, args=case.args)
    except (CniError, PluginMissingError) as error:
        return _failed(site, case, step, error)
    if step != "ADD":
        return output.decode()
    site.previous = json.loads(output)
    result = read_result(output, case.version).to_dict(case.version)
    if not result.get("dns"):
        result.pop("dns", None)  # some versions print an empty one
    return {"version": site.previous.get("cniVersion"), "result": result}


def _failed(site: Site, case: Case, step: str, error: CniError | PluginMissingError) -> Any:
    if step == "ADD":
        assert case.says.lower() in str(error).lower(), (site.way, str(error))
    refused = isinstance(error, CniError) and error.code == INTERNAL
    if step == "DEL" and site.previous is None and refused and site.way != "ours":
        return ""  # a configuration that makes no sense: the reference never lets it go, ours does
    # A program cannot tell the two apart, and says INTERNAL for a plugin that is not installed.
    return {"code": error.code if isinstance(error, CniError) else INTERNAL}
