"""The example drivers keep the contract, and run as programs."""

import asyncio
import importlib.util
import json
import signal
import sys
from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import msgspec
import pytest
import yaml

from netclaim.errors import RequestError
from netclaim.framework import Driver
from netclaim.framework.testing import check_driver
from netclaim.kubelet import DraClient, PluginSockets, register
from netclaim.model import AllocatedDevice, Claim, CounterSet, CounterUse, Device, OpaqueConfig
from tests.support.framework.cluster import api_server, settings_in

EXAMPLES = Path(__file__).parents[3] / "examples"


def load(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def toaster() -> Driver:
    """The toaster driver."""
    driver: Driver = load("toaster").Toaster()
    return driver


def gpu(gpus: int = 2, **kinds: list[str]) -> Driver:
    """The GPU driver, with so many of them, some of other kinds."""
    known = ("shared", "partitioned", "unhealthy", "checked", "pcie_root")
    options = Namespace(gpus=gpus, **{kind: kinds.get(kind, []) for kind in known})
    driver: Driver = load("gpu").Gpu("node-1", options)
    return driver


def claim_for(driver: Driver, device: str, *parameters: dict[str, Any]) -> Claim:
    """A claim on one device; the first parameters are the class's."""
    sources = ("FromClass", "FromClaim")[2 - len(parameters) :] if parameters else ()
    return Claim(
        uid="uid-1",
        namespace="default",
        name="claim",
        allocated=True,
        devices=(AllocatedDevice(request="it", driver=driver.name, pool="node-1", device=device),),
        configs=tuple(
            OpaqueConfig(source=source, driver=driver.name, parameters=given)  # type: ignore[arg-type]
            for source, given in zip(sources, parameters, strict=True)
        ),
    )


async def env_of(driver: Driver, claim: Claim) -> dict[str, str]:
    """What containers get in their environment."""
    (plan,) = (await driver.prepare(claim)).plans
    assert plan.edits is not None
    return dict(plan.edits.env)


async def test_contract() -> None:
    """Both drivers pass the examination of the contract."""
    await check_driver(toaster(), claim_for(toaster(), "toaster-0-bun-0"))
    await check_driver(gpu(), claim_for(gpu(), "gpu-0"))
    await check_driver(gpu(partitioned=["gpu-0", "gpu-1"]), claim_for(gpu(), "gpu-0-full"))


async def test_toaster() -> None:
    """Two toasters have six slots; the claim's darkness goes before the class's."""
    driver = toaster()
    devices = await anext(driver.discover())
    assert len(devices) == 6
    claim = claim_for(driver, "toaster-0-hotdog", {"darkness": 3}, {"darkness": 5})
    assert await env_of(driver, claim) == {
        "TOASTER_0_SLOT": "toaster-0-hotdog",
        "TOASTER_0_DARKNESS": "5",
    }
    with pytest.raises(RequestError, match="not on the dial"):
        await driver.prepare(claim_for(driver, "toaster-0-hotdog", {"darkness": 11}))


async def test_gpu() -> None:
    """A GPU is shared as configured, by default in time slices; an unknown key is refused."""
    driver = gpu()
    assert (await env_of(driver, claim_for(driver, "gpu-1")))["GPU_DEVICE_1"] == "gpu-1"
    partitioned = {
        "apiVersion": "gpu.resource.example.com/v1alpha1",
        "kind": "GpuConfig",
        "sharing": {
            "strategy": "SpacePartitioning",
            "spacePartitioningConfig": {"partitionCount": 10},
        },
    }
    env = await env_of(driver, claim_for(driver, "gpu-1", partitioned))
    assert env["GPU_DEVICE_1_PARTITION_COUNT"] == "10"
    with pytest.raises(RequestError, match="shareing"):
        await driver.prepare(claim_for(driver, "gpu-1", {"shareing": {}}))
    with pytest.raises(RequestError, match="shareing"):
        await driver.preflight(claim_for(driver, "gpu-1", {"shareing": {}}))
    await driver.preflight(claim_for(driver, "gpu-1", partitioned))


async def test_kinds_of_gpus() -> None:
    """GPUs can be shared, partitioned, tainted and on a root; what was consumed is told."""
    driver = gpu(
        gpus=4,
        shared=["gpu-1"],
        partitioned=["gpu-2"],
        unhealthy=["gpu-3"],
        checked=["gpu-0"],
        pcie_root=["pci0000:17", "pci0000:3a"],
    )
    offered = await anext(driver.discover())
    devices = {each.name: each for each in offered if isinstance(each, Device)}
    names = ["gpu-0", "gpu-1", "gpu-2-0", "gpu-2-1", "gpu-2-full", "gpu-3"]
    assert list(devices) == names
    roots = [each.attributes["resource.kubernetes.io/pcieRoot"] for each in devices.values()]
    assert roots == ["pci0000:17", "pci0000:3a", *["pci0000:17"] * 3, "pci0000:3a"]
    policies = {name: d.capacity["memory"].policy is not None for name, d in devices.items()}
    assert [name for name, shared in policies.items() if shared] == ["gpu-1"]
    (counters,) = (each for each in offered if isinstance(each, CounterSet))
    halves = [devices["gpu-2-0"].consumes, devices["gpu-2-1"].consumes]
    assert devices["gpu-2-full"].consumes == (CounterUse("gpu-2", counters.counters),)
    for counter, whole in counters.counters.items():
        taken = [use.counters[counter].nanos for uses in halves for use in uses]
        assert sum(taken) == whole.nanos
    assert [taint.key for taint in devices["gpu-3"].taints] == ["gpu.example.com/unhealthy"]
    checked = [name for name, device in devices.items() if device.binding_conditions]
    assert checked == ["gpu-0"]
    claim = claim_for(driver, "gpu-2-full")
    facts = {"consumed_capacity": {"memory": "16Gi"}, "admin_access": True}
    used = msgspec.structs.replace(claim.devices[0], **facts)
    env = await env_of(driver, msgspec.structs.replace(claim, devices=(used,)))
    assert env["GPU_DEVICE_2_FULL_MEMORY"] == "16Gi"
    assert env["DRA_ADMIN_ACCESS"] == "true"


@pytest.mark.parametrize(
    ("name", "make"), [("toaster", toaster), ("gpu", gpu), ("gpu-demos", gpu), ("gpu-nic", gpu)]
)
def test_manifests(name: str, make: Any) -> None:
    """Every claim of a manifest asks for a class in it, and every pod for a claim in it."""
    objects = list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()))
    named = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
    classes = {key: obj for key, obj in named.items() if key[0] == "DeviceClass"}
    assert any(make().name in str(obj["spec"]["selectors"]) for obj in classes.values())
    for (kind, _), obj in named.items():
        if kind == "Pod":
            for claim in obj["spec"].get("resourceClaims", ()):
                template = claim.get("resourceClaimTemplateName")
                wanted = ("ResourceClaimTemplate", template)
                if template is None:
                    wanted = ("ResourceClaim", claim["resourceClaimName"])
                assert wanted in named
        if kind in {"ResourceClaim", "ResourceClaimTemplate"}:
            spec = obj["spec"].get("spec", obj["spec"])
            for request in spec["devices"]["requests"]:
                for wish in request.get("firstAvailable") or [request["exactly"]]:
                    assert ("DeviceClass", wish["deviceClassName"]) in classes


@pytest.mark.parametrize(
    ("name", "device", "variable"),
    [("toaster", "toaster-1-bun-0", "TOASTER_0_SLOT"), ("gpu", "gpu-3", "GPU_DEVICE_3")],
)
async def test_as_a_program(name: str, device: str, variable: str) -> None:
    """Run as a program it publishes, hands out a CDI device, and stops cleanly on SIGTERM."""
    driver = load(name).Toaster.name if name == "toaster" else load(name).Gpu.name
    claim = Claim(
        uid="uid-1",
        namespace="default",
        name="claim",
        devices=(AllocatedDevice(request="it", driver=driver, pool="node-1", device=device),),
    )
    with TemporaryDirectory(prefix="nc") as directory:
        root = Path(directory)
        async with api_server() as api:
            settings = settings_in(root, api)
            api.put_claim(claim)
            flags = [
                f"--{key.replace('_', '-')}={getattr(settings, key)}"
                for key in (
                    "node_name",
                    "kubeconfig",
                    "state_dir",
                    "kubelet_dir",
                    "cdi_dir",
                    "run_dir",
                )
            ]
            program = await asyncio.create_subprocess_exec(
                sys.executable, str(EXAMPLES / f"{name}.py"), *flags
            )
            sockets = PluginSockets.under(settings.kubelet_dir, driver)
            async with DraClient(await register(sockets.registration)) as kubelet:
                await api.wait_for(lambda: device in api.published())
                answer = (await kubelet.prepare([claim.ref]))["uid-1"]
                assert answer.devices[0].cdi_device_ids == (f"{driver}/claim=uid-1-{device}",)
                (file,) = settings.cdi_dir.iterdir()
                spec = json.loads(file.read_text())
                env = spec["devices"][0]["containerEdits"]["env"]
                assert f"{variable}={device}" in env
                assert await kubelet.unprepare([claim.ref]) == {"uid-1": None}
                assert list(settings.cdi_dir.iterdir()) == []
            program.send_signal(signal.SIGTERM)
            assert await program.wait() == 0
            assert not sockets.registration.exists()


async def test_a_driver_that_cannot_start_says_who_must_act(tmp_path: Path) -> None:
    """What the node's owner must change is one line that names the driver, and exit code 2."""
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / "toaster.py"),
        f"--state-dir={tmp_path}",
        "--kubeconfig=/nonexistent",
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await program.communicate()
    assert program.returncode == 2
    assert told.decode() == "toaster.burntek.io: /nonexistent: No such file or directory\n"
