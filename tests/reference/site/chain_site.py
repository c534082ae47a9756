"""Run chains of plugins, once with the reference programs and once in process.

A chain is a plugin that makes a link and others that build on its result; or one plugin alone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netclaim.cni import CniArgs
from tests.reference.site.chain_state import link_state, traffic_state
from tests.reference.site.cni_site import ip, run
from tests.reference.site.plugin_site import Case, Site, both, take
from tests.reference.site.plugin_state import comparable, differences, store_state


@dataclass(frozen=True, slots=True)
class ChainCase:
    """A chain, and what is done with it.

    A step is a command of CNI, or one of `ip` or `tc` in the host or the pod: "pod ip link ...".
    """

    name: str
    plugins: tuple[dict[str, Any], ...]
    version: str = "1.1.0"
    args: CniArgs = ()
    host: tuple[str, ...] = ()  # commands of `ip` that prepare the host
    pod: tuple[str, ...] = ()  # and the pod
    steps: tuple[str, ...] = ("ADD", "CHECK", "DEL", "DEL")
    fails: bool = False  # what ADD does, in both ways
    says: str = ""  # part of what both say when it fails, in whatever case
    tidy: bool = True  # False: the reference leaves things behind that DEL then removes
    only_links: bool = False  # nothing is changed beyond links, addresses and routes

    def __str__(self) -> str:
        return self.name


def chain_of(case: Case, *, fails: bool = False) -> ChainCase:
    """Describe a single plugin's case as that of a chain of one."""
    return ChainCase(
        case.name,
        (case.config,),
        version=case.version,
        args=case.args,
        host=case.host,
        pod=case.pod,
        steps=case.steps,
        fails=fails,
        says=case.says,
        tidy=case.tidy,
        only_links=True,
    )


def compare(case: ChainCase, cni_plugins: Path, directory: Path) -> list[str]:
    """Do a case in both ways; returns where they differ."""
    return differences(*both(cni_plugins, directory, lambda site: play_chain(site, case)))


def play_chain(site: Site, case: ChainCase) -> list[Any]:
    """Do the steps of a chain; write down what each gave, and what ADD and DEL left."""
    for name, commands in ((site.host, case.host), (site.pod, case.pod)):
        for command in commands:
            ip("-n", name, *command.split())
    for number, step in enumerate(case.steps):
        where, _, command = step.partition(" ")
        if command:
            program, *words = command.split()
            run(program, "-n", {"host": site.host, "pod": site.pod}[where], *words)
            continue
        said = [step, *_take(site, case, step)]
        if step in {"ADD", "DEL"} - set(case.steps[:number]):
            site.log.append(_seen(site, said, case, whole=case.tidy or step == "DEL"))
        else:
            site.log.append(said)
    return site.log


def _take(site: Site, case: ChainCase, step: str) -> list[Any]:
    """Have each plugin of the chain do a step, in order, or on DEL the other way round."""
    said: list[Any] = []
    if step == "ADD":
        site.previous = None
    for config in reversed(case.plugins) if step == "DEL" else case.plugins:
        before = {"prevResult": site.previous} if step == "ADD" and site.previous else {}
        one = Case(case.name, config | before, case.version, case.args, says=case.says)
        said.append(take(site, one, step))
        if "code" in said[-1] and step in {"ADD", "CHECK"}:
            break
    if step == "ADD":
        failed = "code" in said[-1]
        assert failed == case.fails, (site.way, said)
        if failed:
            site.previous = None
    return said


def _seen(site: Site, said: list[Any], case: ChainCase, *, whole: bool) -> Any:
    """Return what a step gave and, if the whole is wanted, what it left."""
    states = [link_state(site.host), link_state(site.pod)]
    names = {site.host: "<host>", site.pod: "<pod>", str(site.directory): "<dir>"}
    left: list[Any] = []
    if whole:
        left = [{key: one[key] for key in one if key not in {"order", "macs"}} for one in states]
        left.append(store_state(site.directory))
        if not case.only_links:
            left += [traffic_state(site.host), traffic_state(site.pod)]
    return comparable([said, left], states, names)
