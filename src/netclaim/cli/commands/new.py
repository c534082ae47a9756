"""`netclaim new`: the first files of a driver that is built on the framework.

Promise: they work as they are: the test passes, and `netclaim try` runs the driver and a pod.
Nothing is written over.
"""

from pathlib import Path
from typing import Annotated

import typer

from netclaim.errors import RequestError

KINDS = ("driver",)


def command(
    kind: Annotated[str, typer.Argument(metavar="driver", help="What to make.")],
    name: Annotated[
        str, typer.Argument(help="The driver's name, a DNS subdomain such as lamp.example.com.")
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR",
            help="Where the files go. Default: a directory with the first part of the name.",
        ),
    ] = None,
) -> None:  # fmt: skip
    r"""Write the first files of a driver for other devices.

    Makes a driver of one page, a manifest that uses it, and a test, all of which work as they are.
    Change what the driver finds and what it hands out. Files that exist are not replaced.

    \b
    Examples:
      netclaim new driver lamp.example.com             into ./lamp
      netclaim new driver lamp.example.com -o drivers  into ./drivers
    """
    from netclaim.cli.starting import start_driver

    if kind not in KINDS:
        raise RequestError(f'"{kind}" is not among what can be made: {", ".join(KINDS)}')
    made = start_driver(name, output)
    program, manifest, test = made
    print(f"{program}  the driver: change what it finds and what it hands out")
    print(f"{manifest}  a class, a claim template and a pod")
    print(f"{test}  its test")
    print(f"try it:   netclaim try --driver-program {name}={program} -f {manifest}")
    print(f"test it:  python -m pytest {test}")
