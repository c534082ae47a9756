"""Kubelet's probes by the keeper's program, against the driver's own server."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from tests.pure.framework.process.test_http import Process

pytestmark = pytest.mark.embedded


async def run(keeper: Path, what: str, **environment: str) -> tuple[int | None, str]:
    """Run a probe as kubelet does; returns the exit code and what kubelet shows."""
    program = await asyncio.create_subprocess_exec(
        keeper,
        "--probe",
        what,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await program.communicate()
    return program.returncode, said.decode().strip()


async def test_probes(tmp_path: Path, keeper_program: Path) -> None:
    """A probe says what the driver says, and fails when the driver is not well or not there."""
    probe = partial(run, keeper_program)
    path, process = tmp_path / "health.sock", Process()
    place = {"NETCLAIM_HEALTH_SOCKET": str(path)}
    async with process.serving("", socket=str(path)):
        assert await probe("healthz", **place) == (0, "ok")
        assert await probe("readyz", **place) == (0, "ok")
        process.missing = "not registered with kubelet"
        assert await probe("readyz", **place) == (1, "not registered with kubelet")
        assert await probe("healthz", **place) == (0, "ok")
        assert (await probe("metrics", **place))[0] == 2
    code, said = await probe("healthz", **place)
    assert code == 1
    assert said.startswith(f"nobody answers at {path}:")
    code, said = await probe("healthz")
    assert code == 1
    assert said.startswith("$NETCLAIM_HEALTH_SOCKET is not set")
