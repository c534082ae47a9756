"""The driver keeps the framework's contract, and refuses what it does not know."""

import asyncio

import pytest
from starter_driver import Starter

from netclaim.errors import RequestError
from netclaim.framework.testing import check_driver
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig


def claim(**parameters: str) -> Claim:
    """A claim that was allocated the first device."""
    device = AllocatedDevice(
        request="device", driver=Starter.name, pool="node-1", device="starter-0"
    )
    config = OpaqueConfig(source="FromClaim", driver=Starter.name, parameters=parameters)
    return Claim(
        uid="uid-1", namespace="default", name="claim", allocated=True,
        devices=(device,), configs=(config,),
    )  # fmt: skip


def test_contract() -> None:
    """Every call of the contract, and every second call, does what it should."""
    asyncio.run(check_driver(Starter(), claim(mode="fast")))


def test_unknown_mode() -> None:
    """A mistake in a claim is refused with what to write instead."""
    with pytest.raises(RequestError, match="use one of quiet, fast"):
        asyncio.run(Starter().prepare(claim(mode="loud")))
