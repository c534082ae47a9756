"""Container images without a container engine: OCI image layouts in a tar, written by Python.

The bytes depend on the contents alone (no times, no owners but root), so the same contents give
the same digests. `ctr images import` takes the result; so does any registry tool.
"""

import gzip
import hashlib
import io
import json
import platform
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = [
    "Image",
    "Layer",
    "Tree",
    "busybox_tree",
    "lab_images",
    "layers_of",
    "pack",
    "write_images",
]

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
PAUSE_IMAGE = "netclaim.dev/lab/pause:1"
ALPINE_IMAGE = "docker.io/library/alpine:latest"  # what `alpine:latest` in a manifest means


@dataclass(slots=True)
class Tree:
    """The files of a layer: regular files, links and directories, by absolute path."""

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    directories: dict[str, int] = field(default_factory=dict)

    def add_file(self, path: str, content: bytes | str, mode: int = 0o644) -> None:
        """Add a regular file."""
        self.files[path] = (content.encode() if isinstance(content, str) else content, mode)

    def add_directory(self, source: Path, path: str) -> None:
        """Add everything below `source`, at `path`."""
        for entry in sorted(source.rglob("*")):
            inside = f"{path}/{entry.relative_to(source)}"
            if entry.is_symlink():
                self.links[inside] = str(entry.readlink())
            elif entry.is_dir():
                self.directories[inside] = entry.stat().st_mode & 0o7777
            else:
                self.add_file(inside, entry.read_bytes(), entry.stat().st_mode & 0o777)

    def tar(self) -> bytes:
        """Return the layer, uncompressed."""
        entries: dict[str, tuple[tarfile.TarInfo, bytes]] = {}
        for path in (*self.files, *self.links, *self.directories):
            for parent in list(Path(path).parents)[-2::-1]:  # from the top, without the root
                entries.setdefault(str(parent), (_info(str(parent), tarfile.DIRTYPE, 0o755), b""))
        for path, mode in self.directories.items():
            entries[path] = (_info(path, tarfile.DIRTYPE, mode), b"")
        for path, (content, mode) in self.files.items():
            entries[path] = (_info(path, tarfile.REGTYPE, mode, size=len(content)), content)
        for path, target in self.links.items():
            entries[path] = (_info(path, tarfile.SYMTYPE, 0o777, link=target), b"")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for _, (info, content) in sorted(entries.items()):
                archive.addfile(info, io.BytesIO(content))
        return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer as an image holds it: compressed, and the digest of what it was before."""

    packed: bytes
    unpacked_digest: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image by name: its layers from the bottom up, and how it runs."""

    name: str
    layers: Sequence[Tree | Layer]
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    user: str = ""  # root


def _info(path: str, kind: bytes, mode: int, size: int = 0, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(path.lstrip("/"))
    info.type, info.mode, info.size, info.linkname = kind, mode, size, link
    return info


def pack(tree: Tree, level: int = 1) -> Layer:
    """Compress a layer; by default for speed, as fits what never leaves the machine."""
    tar = tree.tar()
    digest = f"sha256:{hashlib.sha256(tar).hexdigest()}"
    return Layer(gzip.compress(tar, compresslevel=level, mtime=0), digest)


def write_images(images: Sequence[Image], target: Path) -> None:
    """Write the images into one OCI layout tar."""
    blobs: dict[str, bytes] = {}
    manifests = [_manifest(image, blobs) for image in images]
    index = {"schemaVersion": 2, "manifests": manifests}
    with tarfile.open(target, mode="w") as archive:
        _add(archive, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _add(archive, "index.json", json.dumps(index).encode())
        for digest, content in sorted(blobs.items()):
            _add(archive, f"blobs/sha256/{digest}", content)


def layers_of(archive: Path) -> list[bytes]:
    """The packed layers of the first image in an archive, from the bottom up."""
    with tarfile.open(archive) as blobs:

        def read(name: str) -> bytes:
            member = blobs.extractfile(name)
            assert member is not None, name
            return member.read()

        def blob(digest: str) -> bytes:
            return read(f"blobs/sha256/{digest.removeprefix('sha256:')}")

        manifest = json.loads(blob(json.loads(read("index.json"))["manifests"][0]["digest"]))
        return [blob(each["digest"]) for each in manifest["layers"]]


def _manifest(image: Image, blobs: dict[str, bytes]) -> dict[str, Any]:
    layers = [each if isinstance(each, Layer) else pack(each) for each in image.layers]
    config = {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            "Entrypoint": list(image.entrypoint),
            "Cmd": list(image.command),
            "Env": [f"{name}={value}" for name, value in image.environment.items()],
            "Labels": dict(image.labels),
            "User": image.user,
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.unpacked_digest for layer in layers]},
    }
    kind = "application/vnd.oci.image.manifest.v1+json"
    manifest = {
        "schemaVersion": 2,
        "mediaType": kind,
        "config": _blob(
            blobs, "application/vnd.oci.image.config.v1+json", json.dumps(config).encode()
        ),
        "layers": [
            _blob(blobs, "application/vnd.oci.image.layer.v1.tar+gzip", layer.packed)
            for layer in layers
        ],
    }
    return {
        **_blob(blobs, kind, json.dumps(manifest).encode()),
        "annotations": {
            "io.containerd.image.name": image.name,
            "org.opencontainers.image.ref.name": image.name.rpartition(":")[2],
        },
    }


def _blob(blobs: dict[str, bytes], kind: str, content: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    blobs[digest] = content
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}


def _add(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    archive.addfile(_info(path, tarfile.REGTYPE, 0o644, size=len(content)), io.BytesIO(content))


def busybox_tree(busybox: Path) -> Tree:
    """Return a small system of one static busybox and a link for each of its programs."""
    tree = Tree(directories={"/tmp": 0o1777, "/root": 0o700, "/run": 0o755, "/var": 0o755})
    tree.add_file("/bin/busybox", busybox.read_bytes(), 0o755)
    listed = subprocess.run([str(busybox), "--list"], capture_output=True, text=True, check=True)
    for applet in listed.stdout.split():
        if applet != "busybox":
            tree.links[f"/bin/{applet}"] = "busybox"
    for directory in ("/sbin", "/usr/bin", "/usr/sbin"):
        tree.links[directory] = "/bin"
    tree.add_file(
        "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
    )
    tree.add_file("/etc/group", "root:x:0:\nnobody:x:65534:\n")
    return tree


def lab_images(busybox: Path, pause: Path) -> list[Image]:
    """Return what every node of the lab has: a stand-in for alpine, and the sandbox image."""
    sandbox = Tree()
    sandbox.add_file("/pause", pause.read_bytes(), 0o755)
    path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    return [
        Image(ALPINE_IMAGE, [busybox_tree(busybox)], command=["/bin/sh"], environment=path),
        Image(PAUSE_IMAGE, [sandbox], entrypoint=["/pause"]),
    ]
