#!/bin/sh
# Prepare this checkout: Debian packages where they are missing (as root), the chained CNI plugin
# compiled from native/, then .venv with the Python packages of requirements.lock. Does nothing
# where everything is in place. With --python it prepares only .venv, which is enough for
# `make check`.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
READY=.venv/ready # holds the hash of what .venv was made from
ONLY=${1:-}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

# Program or file that shows the package to be there, then the package. runc, busybox-static and
# iproute2 are the lab's, see lab/parts/pins.yaml; qemu runs tests on a kernel with more kinds of
# links; libnftables is for masquerading; chromium looks at the page of `netclaim ui`; gcc and libc.a
# are for native/; Debian's keys are for the packages in the image.
missing_packages() {
  command -v "$PYTHON" >/dev/null 2>&1 || echo python3
  "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
  [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
  [ "$ONLY" != --python ] || return 0
  for pair in ip:iproute2 runc:runc busybox:busybox-static nsenter:util-linux \
    qemu-system-x86_64:qemu-system-x86 gcc:gcc make:make chromium:chromium; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || echo "${pair##*:}"
  done
  "$PYTHON" -c 'import ctypes; ctypes.CDLL("libnftables.so.1")' 2>/dev/null || echo libnftables1
  [ -e "$(gcc -print-file-name=libc.a 2>/dev/null)" ] || echo libc6-dev
  [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || echo debian-archive-keyring
}

missing=$(missing_packages | sort -u | tr '\n' ' ')
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing Debian packages: $missing"
    log=$(mktemp)
    {
      apt-get update -q && DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends $missing
    } >"$log" 2>&1 || { tail -n 15 "$log" >&2; die "apt-get could not install: $missing"; }
    rm -f "$log"
  else
    say "these Debian packages are missing: $missing"
    say "install them as root: apt-get install $missing"
  fi
fi

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  die "Python 3.11 or newer is needed; PYTHON=/path/to/python3 names another"
"$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || die "python3-venv is needed for .venv"

if [ "$ONLY" != --python ] && command -v gcc >/dev/null 2>&1; then
  make --silent --no-print-directory native >&2 || die "native/ does not compile"
fi

wanted=$(cat requirements.lock pyproject.toml scripts/setup.sh | sha256sum | cut -c1-16)
if [ "$(cat "$READY" 2>/dev/null || true)" = "$wanted" ]; then exit 0; fi

started=$(date +%s)
say "making .venv with $(grep -c '^[a-z].*==' requirements.lock) Python packages (about a minute)"
rm -f "$READY"
[ -x .venv/bin/python ] || "$PYTHON" -m venv --clear .venv
[ -t 2 ] && quiet= || quiet=--quiet # on a terminal pip shows what it fetches
.venv/bin/python -m pip install $quiet --disable-pip-version-check --require-hashes \
  -r requirements.lock >&2
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
  --no-build-isolation --editable . >&2
echo "$wanted" >"$READY"
say ".venv is ready after $(($(date +%s) - started)) s"
