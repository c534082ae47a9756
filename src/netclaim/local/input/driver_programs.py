"""Drivers that an embedded cluster runs beside netclaim's own: `NAME=COMMAND`.

Promise: what cannot be run is refused with the option's name before anything starts. Limit: only
Python programs that are built on netclaim's framework, because they need its options.
"""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from netclaim.errors import RequestError
from netclaim.framework.settings.fields import subdomain
from netclaim.model.api.limits import DOMAIN_MAX

OPTION: Final = "--driver-program"


def read_programs(given: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the command lines by the drivers' names; the program's path is made absolute."""
    programs: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, command = _read(text)
        if name in programs:
            raise RequestError(f"driver {name} is given twice; remove one", path=(OPTION,))
        programs[name] = command
    return programs


def _read(text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, line = text.partition("=")
    try:
        program, *options = shlex.split(line)
        subdomain(name, DOMAIN_MAX)
    except (ValueError, RequestError) as error:
        example = "gpu.example.com=examples/gpu.py --gpus 2"
        message = f'"{text}" is not NAME=COMMAND; for example "{example}"'
        raise RequestError(message, path=(OPTION,)) from error
    path = Path(program).absolute()
    if not equals or not path.is_file():
        raise RequestError(f"there is no program {program}", path=(OPTION,))
    return name, (str(path), *options)
