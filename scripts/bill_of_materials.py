"""What an image is made of, as a CycloneDX document: Debian packages, Python packages, netclaim.

Promise: read from the image's own layers, not from what was meant to be in them; the same image
and time give the same bytes.
Limit: names, versions and licences as the packages declare them; no files, no vulnerabilities.
"""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Final

from lab.images.oci import layers_of
from netclaim import __version__

FORMAT: Final = "1.5"  # the one that the usual scanners all read
DEBIAN: Final = re.compile(r"var/lib/dpkg/status\.d/[^/]+")
PYTHON: Final = re.compile(r".*/dist-packages/[^/]+\.dist-info/METADATA")


def bill_of_materials(image: Path, made_at: int) -> bytes:
    """Return the document of an image's archive; `made_at` is in seconds since 1970."""
    found = sorted(_components(image), key=lambda each: str(each["purl"]))
    own = next(each for each in found if each["name"] == "netclaim")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": FORMAT,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(made_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "container", "name": "netclaim", "version": __version__},
        },
        "components": [own, *(each for each in found if each is not own)],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _components(image: Path) -> Iterator[dict[str, Any]]:
    for path, content in _files(image):
        text = content.decode(errors="replace")
        if DEBIAN.fullmatch(path):
            said = HeaderParser().parsestr(text)
            name, version = said["Package"], said["Version"]
            where = f"pkg:deb/debian/{name}@{version}?arch={said['Architecture']}"
            yield _component(name, version, where)
        elif PYTHON.fullmatch(path):
            said = HeaderParser().parsestr(text)
            name = re.sub(r"[-_.]+", "-", said["Name"]).lower()  # as package indexes spell it
            where = f"pkg:pypi/{name}@{said['Version']}"
            yield {**_component(name, said["Version"], where), **_licence(said)}


def _component(name: str, version: str, where: str) -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version, "purl": where}


def _licence(said: Message) -> dict[str, Any]:
    expression = said["License-Expression"]
    return {"licenses": [{"expression": expression}]} if expression else {}


def _files(image: Path) -> Iterator[tuple[str, bytes]]:
    """The files of all layers; none of ours hides one of a lower layer."""
    for layer in layers_of(image):
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer))) as files:
            for member in files:
                if member.isfile() and (content := files.extractfile(member)) is not None:
                    yield member.name, content.read()
