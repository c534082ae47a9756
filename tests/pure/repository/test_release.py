"""The files of a release: what is refused, and that the same contents give the same bytes."""

import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from lab.images.oci import Image, Tree, write_images
from netclaim import __version__
from scripts.bill_of_materials import bill_of_materials
from scripts.release import pack_chart, refuse

SITE = "/usr/local/lib/python3.13/dist-packages"


def git(checkout: Path, *arguments: str) -> None:
    """Run git as somebody."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=checkout, check=True, capture_output=True)


@pytest.fixture(name="checkout")
def _checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message", "one")
    return tmp_path


def test_what_is_not_a_release(checkout: Path) -> None:
    """A commit without the tag of the version is refused, and so is one that was changed."""
    with pytest.raises(SystemExit, match=r"does not have the tag v1\.2\.3"):
        refuse(checkout, "1.2.3", tagged=True)
    refuse(checkout, "1.2.3", tagged=False)
    git(checkout, "tag", "v1.2.3")
    refuse(checkout, "1.2.3", tagged=True)
    (checkout / "other").write_text("2")
    with pytest.raises(SystemExit, match=r"differs from its commit \(other\)"):
        refuse(checkout, "1.2.3", tagged=True)


def test_a_packed_chart() -> None:
    """Files are below the chart's name; their order and time leave no trace."""
    files = {"Chart.yaml": b"name: netclaim\n", "templates/a.yaml": b"a"}
    packed = pack_chart(files)
    assert packed == pack_chart(dict(reversed(files.items())))
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        found = {each.name for each in archive if each.isfile()}
    assert found == {"netclaim/Chart.yaml", "netclaim/templates/a.yaml"}


def test_a_bill_of_materials(tmp_path: Path) -> None:
    """What the layers have is listed, netclaim first, and nothing depends on when it is read."""
    system, own = Tree(), Tree()
    system.add_file(
        "/var/lib/dpkg/status.d/libc6", "Package: libc6\nVersion: 2.41-12\nArchitecture: amd64\n"
    )
    said = "Metadata-Version: 2.4\nName: {}\nVersion: {}\n"
    system.add_file(f"{SITE}/Some_Thing-1.0.dist-info/METADATA", said.format("Some_Thing", "1.0"))
    own.add_file(
        f"{SITE}/netclaim-{__version__}.dist-info/METADATA",
        said.format("netclaim", __version__) + "License-Expression: Apache-2.0\n\nA README.\n",
    )
    archive = tmp_path / "image.tar"
    write_images([Image("netclaim:1", [system, own])], archive)
    document = json.loads(bill_of_materials(archive, 86_400))
    assert document["metadata"]["timestamp"] == "1970-01-02T00:00:00Z"
    assert [each["purl"] for each in document["components"]] == [
        f"pkg:pypi/netclaim@{__version__}",
        "pkg:deb/debian/libc6@2.41-12?arch=amd64",
        "pkg:pypi/some-thing@1.0",
    ]
    assert document["components"][0]["licenses"] == [{"expression": "Apache-2.0"}]
    assert bill_of_materials(archive, 86_400) == bill_of_materials(archive, 86_400)
