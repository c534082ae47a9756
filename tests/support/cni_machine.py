"""A directory of small real plugins, for the tests of the chain.

The plugins are real programs: one shell script under several names, which notes each call and then
does what files beside it say.
"""

import json
import os
from pathlib import Path
from typing import Any

from netclaim.cni import (
    Chain,
    Endpoint,
    ExecPlugins,
    Interface,
    NetworkList,
    Plugins,
    Result,
    ResultCache,
    parse_network,
)
from netclaim.kernel import is_live

SCRIPT = """#!/bin/sh
here=${0%/*} name=${0##*/}
echo "$CNI_COMMAND $name" >>"$here/calls"
cat >"$here/$name.$CNI_COMMAND.stdin"
env >"$here/$name.$CNI_COMMAND.env"
if [ -e "$here/$name.$CNI_COMMAND.hangs" ]; then sleep 600; fi
if [ -e "$here/$name.$CNI_COMMAND.fails" ]; then cat "$here/$name.$CNI_COMMAND.fails"; exit 1; fi
if [ -e "$here/$name.$CNI_COMMAND.prints" ]; then cat "$here/$name.$CNI_COMMAND.prints"; fi
"""
NETNS = "/proc/self/ns/net"  # a namespace that is alive; these plugins do not enter it
ENDPOINT = Endpoint("c0ffee", NETNS, "net1", (("IgnoreUnknown", "1"),))
SOON_S = 2.0  # a hundred times what a script takes, and soon enough for one that hangs


class Machine:
    """A directory of plugins, what they were told, and a chain that calls them."""

    def __init__(self, tmp_path: Path) -> None:
        self._bin = tmp_path / "bin"
        self._bin.mkdir()
        self.cache = ResultCache(tmp_path / "cache")
        self.exec = ExecPlugins(inherited=os.environ, deadline_s=60)
        self.chain = self.chain_of(self.exec)

    def chain_of(self, plugins: Plugins) -> Chain:
        """Return a chain over this directory and cache."""
        return Chain(plugins, self.cache, (str(self._bin),), is_live)

    def install(self, *names: str) -> None:
        """Install plugins; each answers ADD with an interface of its own name."""
        for name in names:
            (self._bin / name).write_text(SCRIPT)
            (self._bin / name).chmod(0o755)
            self.answer(name, "ADD", made_by(name).to_dict("1.0.0"))

    def answer(self, name: str, command: str, output: object) -> None:
        """Make a plugin print something."""
        (self._bin / f"{name}.{command}.prints").write_text(json.dumps(output))

    def fail(self, name: str, command: str, *, code: int = 100) -> None:
        """Make a plugin fail with a CNI error."""
        error = {"code": code, "msg": f"{name} will not"}
        (self._bin / f"{name}.{command}.fails").write_text(json.dumps(error))

    def hang(self, name: str, command: str) -> None:
        """Make a plugin never end."""
        (self._bin / f"{name}.{command}.hangs").touch()

    def mend(self, name: str, command: str) -> None:
        """Make a plugin work again."""
        (self._bin / f"{name}.{command}.fails").unlink()

    def calls(self) -> list[str]:
        """Return the calls since the last look."""
        notes = self._bin / "calls"
        lines = notes.read_text().splitlines() if notes.exists() else []
        notes.unlink(missing_ok=True)
        return lines

    def told(self, name: str, command: str) -> dict[str, Any]:
        """Return the configuration that a plugin read last."""
        told: dict[str, Any] = json.loads((self._bin / f"{name}.{command}.stdin").read_bytes())
        return told

    def env(self, name: str, command: str) -> dict[str, str]:
        """Return the environment that a plugin had last."""
        lines = (self._bin / f"{name}.{command}.env").read_text().splitlines()
        return dict(line.partition("=")[::2] for line in lines)


def made_by(name: str) -> Result:
    """Return the result that the script of this name prints for ADD."""
    return Result((Interface(name, sandbox=NETNS),))


def network(*plugins: str | dict[str, Any], version: str = "1.0.0", **keys: object) -> NetworkList:
    """Return a network of these plugins."""
    listed = [{"type": item} if isinstance(item, str) else item for item in plugins]
    return parse_network({"cniVersion": version, "name": "net", "plugins": listed, **keys})
