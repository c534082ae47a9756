"""Run checks, all at the same time.

Promise: one result for each check, in the order of the checks, whatever happens: a check that takes
too long, is refused or has a bug is `unknown`, and does not keep the others from their results.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from netclaim.doctor.finding import Check, Finding, Result, Scope, unknown
from netclaim.errors import NetclaimError
from netclaim.kube import ForbiddenError

__all__ = ["run_checks"]

S = TypeVar("S")


async def run_checks(
    scope: Scope,
    checks: Sequence[Check[S]],
    sight: S,
    *,
    ended: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Run the checks of a scope; `ended` hears of each as it ends."""

    async def one(check: Check[S]) -> Result:
        began = time.monotonic()
        finding = await _finding(check, sight)
        seconds = time.monotonic() - began
        result = Result(scope, check.id, check.title, check.why, finding, round(seconds, 3))
        ended(result)
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(check)) for check in checks]
    return [task.result() for task in tasks]


async def _finding(check: Check[Any], sight: Any) -> Finding:
    try:
        async with asyncio.timeout(check.seconds):
            return await check.look(sight)
    except TimeoutError:
        return unknown(f"no answer within {check.seconds:g} s", "run the command again")
    except ForbiddenError as fault:
        return unknown(
            f"you may not use {_line(fault).partition(' is forbidden')[0]}",
            "run the command as somebody who may read this, for example a cluster admin",
        )
    except NetclaimError as fault:
        return unknown(_line(fault), "run the command again when this is resolved")
    except OSError as fault:
        return unknown(f"{fault.filename or check.title}: {fault.strerror or fault}")
    except Exception as fault:  # noqa: BLE001 - the other checks are what the user came for
        return unknown(
            f"the check failed, which is a bug: {type(fault).__name__}: {_line(fault)}",
            "report it with the archive of --output support.tgz",
        )


def _line(fault: Exception) -> str:
    return " ".join(str(fault).split())
