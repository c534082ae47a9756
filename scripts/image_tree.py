"""Lay out the files of the container image, one layer a call, without a container engine.

    python3 scripts/image_tree.py system DIRECTORY
    python3 scripts/image_tree.py packages DIRECTORY --system SYSTEM --lock LOCK
    python3 scripts/image_tree.py netclaim DIRECTORY --system SYSTEM --wheel WHEEL

The Dockerfile and `python -m lab image build` both call this, so that both images hold the same
files. It needs a Debian machine's apt-get and dpkg-deb, and pip; neither root nor any package. On
another machine with these programs, DEBIAN_ARCHIVE=ADDRESS names a mirror's directory debian.
Promise: Debian's packages are verified by the archive's signature, wheels by the lock's hashes;
DIRECTORY must not exist before, and is complete when the program ends with 0.
Limit: no package's installation script runs. What they would have made is in `_settings`.
"""

import argparse
import fnmatch
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SUITE = "trixie"  # Debian 13, the one with Python 3.13
PYTHON = "python3.13"
ARCHIVE_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SITE = f"usr/local/lib/{PYTHON}/dist-packages"  # where Debian's Python looks for what is local

# Without their dependencies: each one is here for a reason, and a test holds that none is missing.
PACKAGES = (
    "base-files",  # directories and /etc/os-release; first, since it links /lib to /usr/lib
    "libc6", "libgcc-s1", "gcc-14-base",  # the last one has the licence of the second
    "libstdc++6",  # for RE2, which runs the regular expressions of selectors
    "python3.13-minimal", "libpython3.13-minimal", "libpython3.13-stdlib",
    "libbz2-1.0", "libexpat1", "libffi8", "liblzma5", "libsqlite3-0", "libssl3t64", "libuuid1",
    "libzstd1", "zlib1g",  # what the standard library and each other need
    "libnftables1", "libgmp10", "libjansson4", "libmnl0", "libnftnl11", "libxtables12",
    "nftables", "libbsd0", "libedit2", "libmd0", "libtinfo6",  # for CNI plugins that execute nft
    "ca-certificates",
)  # fmt: skip

# What nobody reads or runs in a container. Copyright files stay: the licences ask for it.
SUPERFLUOUS = (
    "etc/ca-certificates*", "etc/default", "etc/dpkg", "etc/issue*", "etc/nftables.conf",
    "etc/profile.d", "etc/skel", "etc/update-motd.d",
    f"etc/{PYTHON}", f"usr/lib/{PYTHON}/sitecustomize.py",  # a hook for reports to distributors
    "usr/sbin/update-ca-certificates",
    "usr/share/base-files", "usr/share/binfmts", "usr/share/info", "usr/share/lintian",
    "usr/share/man", "usr/share/doc/*/[!c]*", "usr/share/doc/*/changelog*",
    "usr/lib/*-linux-gnu/gconv",  # conversions that Python does itself
    f"usr/lib/{PYTHON}/test", f"usr/lib/{PYTHON}/pydoc_data", f"usr/lib/{PYTHON}/turtle*",
    f"usr/lib/{PYTHON}/lib-dynload/_*test*", f"usr/lib/{PYTHON}/lib-dynload/xx*",
    # Extensions whose libraries are for terminals and old databases:
    f"usr/lib/{PYTHON}/lib-dynload/_curses*", f"usr/lib/{PYTHON}/lib-dynload/_dbm*",
    f"usr/lib/{PYTHON}/lib-dynload/readline*",
)  # fmt: skip

# Beside what the machine has set, such as a proxy; its hooks are for its own apt.
APT_CONF = """
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{work}/etc";
Dir::State::lists "{work}/lists";
Dir::State::status "{work}/status";
Dir::Cache "{work}/cache";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""

NEEDS = {"system": (), "packages": ("system", "lock"), "netclaim": ("system", "wheel")}  # options

LAUNCHER = f"""#!/usr/bin/{PYTHON}
import sys

from netclaim.cli import main

sys.exit(main())
"""


def system(target: Path) -> None:
    """Unpack Debian's packages: the C library, Python, nftables, certificates."""
    with tempfile.TemporaryDirectory() as work:
        for package in _download(Path(work)):
            _run("dpkg-deb", "--extract", str(package), str(target))
            _record(package, target)
    _settings(target)
    for path in sorted(target.rglob("*"), reverse=True):
        inside = str(path.relative_to(target))
        if any(fnmatch.fnmatchcase(inside, pattern) for pattern in SUPERFLUOUS):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    _compile(target, target, f"usr/lib/{PYTHON}")


def packages(target: Path, system_tree: Path, lock: Path) -> None:
    """Install the Python packages of the lock, as wheels for the image's Python."""
    _pip(target, "--require-hashes", "--requirement", str(lock))
    _compile(target, system_tree, SITE)


def netclaim(target: Path, system_tree: Path, wheel: Path) -> None:
    """Install netclaim from its wheel, the program that starts it, and the driver's keeper."""
    _pip(target, str(wheel))
    for note in (target / SITE).glob("*.dist-info/direct_url.json"):
        note.unlink()  # names a path on this machine
    _write(target, "usr/local/bin/netclaim", LAUNCHER, 0o755)
    keeper = target / SITE / "netclaim/keeper/netclaim-keeper"
    keeper.chmod(0o755)
    (target / "usr/local/bin/netclaim-keeper").symlink_to(f"/{keeper.relative_to(target)}")
    _compile(target, system_tree, SITE)


def _download(work: Path) -> list[Path]:
    """Fetch the packages with an apt of our own, which knows nothing but SUITE."""
    for directory in ("etc", "lists/partial", "cache/archives/partial", "packages"):
        (work / directory).mkdir(parents=True)
    (work / "status").touch()
    (work / "etc" / "image.sources").write_text("\n".join(_sources()))
    (work / "apt.conf").write_text(APT_CONF.format(work=work))
    apt = ["apt-get", "--quiet", f"--config-file={work}/apt.conf"]
    _run(*apt, "update", "--error-on=any")
    _run(*apt, "download", *PACKAGES, cwd=work / "packages")
    found = {path.name.partition("_")[0]: path for path in (work / "packages").iterdir()}
    return [found[name] for name in PACKAGES]


def _sources() -> list[str]:
    """Return where SUITE is to be had: in the machine's own archives, or in DEBIAN_ARCHIVE."""
    archive = os.environ.get("DEBIAN_ARCHIVE", "").rstrip("/")
    if archive:  # mirrors have the security fixes beside it
        security = (f"{archive}-security", f"{SUITE}-security")
        places = {(archive, SUITE), (archive, f"{SUITE}-updates"), security}
    else:
        places = _machine_places()
    if not places:
        raise SystemExit(
            "apt-get knows no archive of Debian:"
            " set DEBIAN_ARCHIVE to the address of a mirror's directory debian"
        )
    return [
        f"Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: main\nSigned-By: {ARCHIVE_KEYS}\n"
        for uri, suite in sorted(places)
    ]


def _machine_places() -> set[tuple[str, str]]:
    """Return the archives that this Debian machine uses, with SUITE instead of its own release."""
    machine = platform.freedesktop_os_release()
    if machine["ID"] != "debian":
        return set()
    asked = _run("apt-get", "update", "--print-uris")
    found = re.findall(r"^'(\S+)/dists/(\w+)(\S*)/InRelease'", asked, re.MULTILINE)
    own = machine["VERSION_CODENAME"]
    return {(uri, f"{SUITE}{rest}") for uri, release, rest in found if release == own}


def _record(package: Path, target: Path) -> None:
    """Leave a note of the package's version where scanners of images look for it."""
    control = _run("dpkg-deb", "--field", str(package))
    _write(target, f"var/lib/dpkg/status.d/{package.name.partition('_')[0]}", control)


def _settings(target: Path) -> None:
    """Make what installation scripts make on an ordinary Debian."""
    _write(target, "etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\n"
           "netclaim:x:65532:65532:netclaim:/:/sbin/nologin\n")  # fmt: skip
    _write(target, "etc/group", "root:x:0:\nnetclaim:x:65532:\n")
    _write(target, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
    certificates = sorted((target / "usr/share/ca-certificates").rglob("*.crt"))
    bundle = "".join(each.read_text().rstrip("\n") + "\n" for each in certificates)
    _write(target, "etc/ssl/certs/ca-certificates.crt", bundle)
    (target / "usr/bin/python3").symlink_to(PYTHON)
    for name, link in (("run", "/run"), ("lock", "/run/lock")):
        (target / "var" / name).rmdir()
        (target / "var" / name).symlink_to(link)


def _pip(target: Path, *arguments: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--no-compile", "--only-binary=:all:", "--python-version=3.13"]
    _run(*pip, "--target", str(target / SITE), *arguments)
    shutil.rmtree(target / SITE / "bin", ignore_errors=True)  # started with this machine's Python


def _compile(target: Path, system_tree: Path, below: str) -> None:
    """Write byte code with the image's own Python; it holds whatever times the files have."""
    loader = next(system_tree.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*"))
    python = [str(loader), "--library-path", str(loader.parent), f"{system_tree}/usr/bin/{PYTHON}"]
    options = ["-q", "--invalidation-mode=unchecked-hash", "-s", str(target), "-p", "/"]
    home = {**os.environ, "PYTHONHOME": f"{system_tree}/usr", "PYTHONDONTWRITEBYTECODE": "1"}
    _run(*python, "-S", "-m", "compileall", *options, str(target / below), env=home)


def _write(target: Path, inside: str, text: str, mode: int = 0o644) -> None:
    path = target / inside
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-15:]
        raise SystemExit("\n  ".join([f"{Path(command[0]).name} failed:", *said]))
    return done.stdout


def main() -> None:
    """Lay out one layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layer", choices=tuple(NEEDS))
    parser.add_argument("directory", type=Path, help="Where to; made anew.")
    parser.add_argument("--system", type=Path, help="The layer `system`, whose Python compiles.")
    parser.add_argument("--lock", type=Path, help="The packages, with hashes.")
    parser.add_argument("--wheel", type=Path, help="Netclaim's wheel.")
    options = parser.parse_args()
    for name in NEEDS[options.layer]:
        if getattr(options, name) is None:
            parser.error(f"{options.layer} needs --{name}")
    os.umask(0o022)
    target = options.directory.absolute()
    if target.exists():
        parser.error(f"{options.directory} exists already; name a new directory")
    target.mkdir(parents=True)
    if options.layer == "system":
        system(target)
    elif options.layer == "packages":
        packages(target, options.system.absolute(), options.lock)
    else:
        netclaim(target, options.system.absolute(), options.wheel)


if __name__ == "__main__":
    main()
