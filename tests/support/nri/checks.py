"""What must hold between our plugin and any runtime: the same examinations for ours and for others.

Each check runs a plugin of its own against a runtime that listens at `path`, and waits for nothing
but the plugin: an event that comes while a runtime still synchronizes a plugin waits for that.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from netclaim.errors import RequestError
from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri import Container, Plugin, RuntimeInfo
from tests.support.nri.parts import Recorder, a_container, a_pod, connected, never, raising


class RuntimeUnderTest(Protocol):
    """A runtime that can be told what to do; a refusal by a plugin is raised."""

    async def run_pod_sandbox(self, pod: PodSandbox) -> None:
        """Tell of a new sandbox."""

    async def stop_pod_sandbox(self, pod: PodSandbox) -> None:
        """Tell that a sandbox is going."""

    async def remove_pod_sandbox(self, pod: PodSandbox) -> None:
        """Tell that a sandbox is gone."""

    async def create_container(self, pod: PodSandbox, container: Container) -> object:
        """Tell of a container that is about to be made."""


@asynccontextmanager
async def a_plugin(handlers: Recorder, path: Path) -> AsyncIterator[Plugin]:
    """A connected plugin."""
    plugin = Plugin(handlers, name="examined", index="10", socket_path=path)
    async with connected(plugin):
        yield plugin


async def check_life_of_a_pod(runtime: RuntimeUnderTest, path: Path) -> None:
    """Each event of a sandbox reaches its handler once, in order, with all that is known."""
    handlers, pod = Recorder(), a_pod()
    async with a_plugin(handlers, path):
        await runtime.run_pod_sandbox(pod)
        await runtime.create_container(pod, a_container())
        await runtime.stop_pod_sandbox(pod)
        await runtime.remove_pod_sandbox(a_pod(netns=None))
    assert handlers.events == [
        ("run", pod),
        ("create", pod),
        ("stop", pod),
        ("remove", a_pod(netns=None)),
    ]
    assert handlers.created == [a_container()]


async def check_introduction(runtime: RuntimeUnderTest, path: Path) -> None:
    """The plugin knows the runtime that configured it, as long as it is connected."""
    handlers = Recorder()
    async with a_plugin(handlers, path) as plugin:
        assert isinstance(plugin.runtime, RuntimeInfo)
        assert plugin.runtime == handlers.runtime
        assert plugin.runtime.request_timeout_s == 2.0
        assert plugin.runtime.name
    assert plugin.runtime is None


async def check_large_messages(runtime: RuntimeUnderTest, path: Path) -> None:
    """Sandboxes of 5 kB to 300 kB arrive whole."""
    handlers = Recorder()
    pods = [a_pod(number, size=size) for number, size in enumerate((4_096, 5_000, 300_000))]
    async with a_plugin(handlers, path):
        for pod in pods:
            await runtime.run_pod_sandbox(pod)
            await runtime.stop_pod_sandbox(pod)
            await runtime.remove_pod_sandbox(pod)
    assert [pod for name, pod in handlers.events if name == "run"] == pods


async def check_refused_sandbox(runtime: RuntimeUnderTest, path: Path) -> None:
    """An error in run_pod_sandbox fails the sandbox with its message; the plugin stays."""
    handlers = Recorder(run=raising(RequestError("no such link: eth9")))
    async with a_plugin(handlers, path):
        for number in (1, 2):
            with pytest.raises(Exception, match="no such link: eth9"):
                await runtime.run_pod_sandbox(a_pod(number))
    assert [pod.id for name, pod in handlers.events if name == "run"] == ["sandbox-1", "sandbox-2"]


async def check_refused_container(runtime: RuntimeUnderTest, path: Path) -> None:
    """An error in create_container keeps the container from being made; the plugin stays."""
    handlers = Recorder(create=raising(RequestError("claim is not attached")))
    async with a_plugin(handlers, path):
        for number in (1, 2):
            with pytest.raises(Exception, match="claim is not attached"):
                await runtime.create_container(a_pod(), a_container(number))
    assert handlers.names() == ["create", "create"]


async def check_long_refusal(runtime: RuntimeUnderTest, path: Path) -> None:
    """A refusal with a text of 100 kB fails the sandbox like any other."""
    handlers = Recorder(run=raising(RequestError("too bad, " * 12_000)))
    async with a_plugin(handlers, path):
        with pytest.raises(Exception, match="too bad, too bad"):
            await runtime.run_pod_sandbox(a_pod())


async def check_slow_hook(runtime: RuntimeUnderTest, path: Path) -> None:
    """A hook that does not end is an error in time, so that the pod is not started without it."""
    handlers = Recorder(run=never)
    async with a_plugin(handlers, path):
        with pytest.raises(Exception, match=r"RunPodSandbox did not finish within 1\.8 s"):
            await runtime.run_pod_sandbox(a_pod())
        await runtime.create_container(a_pod(2), a_container())
    assert handlers.names()[-1] == "create"


async def check_slow_cleanup(runtime: RuntimeUnderTest, path: Path) -> None:
    """The answer to a hook that was cut off does not wait for the hook to clean up."""
    cleaning, cleaned = asyncio.Event(), asyncio.Event()

    async def attach() -> None:
        try:
            await never()
        finally:
            cleaning.set()
            await cleaned.wait()

    async with a_plugin(Recorder(run=attach), path):
        with pytest.raises(Exception, match="RunPodSandbox did not finish within"):
            await runtime.run_pod_sandbox(a_pod())
        await cleaning.wait()
        cleaned.set()


async def check_failed_stop(runtime: RuntimeUnderTest, path: Path) -> None:
    """After an error in stop or remove the sandbox goes all the same, and the plugin stays."""
    handlers = Recorder(
        stop=raising(RequestError("cannot stop")), remove=raising(RequestError("cannot remove"))
    )
    async with a_plugin(handlers, path):
        await runtime.run_pod_sandbox(a_pod())
        await runtime.stop_pod_sandbox(a_pod())
        await runtime.remove_pod_sandbox(a_pod())
    assert handlers.names() == ["run", "stop", "remove"]


async def check_synchronize(runtime: RuntimeUnderTest, path: Path) -> None:
    """A plugin that comes later hears of all that is there; 100 sandboxes with 500 containers."""
    pods = [a_pod(number, size=2_000) for number in range(100)]
    for pod in pods:
        await runtime.run_pod_sandbox(pod)
    containers = [a_container(number, pod=pods[number // 5], size=2_000) for number in range(500)]
    for container in containers:
        await runtime.create_container(pods[0], container)
    handlers = Recorder()
    async with a_plugin(handlers, path):
        assert sorted(handlers.pods, key=lambda pod: pod.id) == sorted(pods, key=lambda pod: pod.id)
        assert {container.id: container for container in handlers.containers} == {
            container.id: container for container in containers
        }


CHECKS = [
    check_life_of_a_pod,
    check_introduction,
    check_large_messages,
    check_refused_sandbox,
    check_refused_container,
    check_long_refusal,
    check_slow_hook,
    check_slow_cleanup,
    check_failed_stop,
    check_synchronize,
]
