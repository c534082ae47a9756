# netclaim's container image: Debian's C library, Python 3.13 and nftables, the Python packages of
# requirements-runtime.lock, and netclaim. There is no shell and no package manager in it;
# docs/image.md explains how to look into a running one.
#
#   docker build --build-arg VERSION=0.1.0 -t netclaim:0.1.0 .
#
# scripts/image_tree.py lays out the files, one layer a call. `make image` does the same without a
# container engine, and takes the settings from the last stage of this file.

# Only builds: nothing of it is in the image. To pin it, name its digest; see docs/image.md.
ARG BASE=debian:trixie-slim
FROM ${BASE} AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      gcc libc6-dev make python3-hatchling python3-pip
WORKDIR /build
COPY scripts/image_tree.py scripts/
RUN python3 scripts/image_tree.py system /image/system
COPY requirements-runtime.lock ./
RUN python3 scripts/image_tree.py packages /image/packages \
      --system /image/system --lock requirements-runtime.lock
COPY . .
RUN python3 -m hatchling build -t wheel \
 && python3 scripts/image_tree.py netclaim /image/netclaim \
      --system /image/system --wheel dist/netclaim-*.whl

FROM scratch
COPY --from=build /image/system /
COPY --from=build /image/packages /
COPY --from=build /image/netclaim /
ARG VERSION=dev
LABEL org.opencontainers.image.title="netclaim" \
      org.opencontainers.image.description="Network interfaces for Kubernetes pods through Dynamic Resource Allocation" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
# All of the Python code is compiled already, and the file system may be read-only.
ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin \
    PYTHONDONTWRITEBYTECODE=1
# The commands that read files and the API need no privilege. The driver does: it enters network
# namespaces and changes links, so its DaemonSet sets runAsUser: 0.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/netclaim"]
