"""The archive for a maintainer: the findings, and what they were found in, without secrets.

Promise: gathers what may be read and lists what may not; every file is cleaned on its way in.
"""

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from netclaim import __version__
from netclaim.doctor.cluster_sight import ClusterSight
from netclaim.doctor.finding import Result
from netclaim.doctor.node_sight import NodeSight
from netclaim.doctor.show import as_json, show
from netclaim.doctor.support_archive import STDOUT, SUFFIXES, refuse_existing, write_archive
from netclaim.doctor.support_clean import clean_text
from netclaim.doctor.support_cluster import gather_cluster
from netclaim.doctor.support_gather import Gathered
from netclaim.doctor.support_node import gather_node
from netclaim.screen import PlainScreen

__all__ = ["STDOUT", "SUFFIXES", "collect", "refuse_existing", "write_archive"]

README = """\
What `netclaim doctor` {version} collected on {date}.
It looked at {looked_at}.

Removed: values whose keys or looks suggest a secret (passwords, tokens, keys, certificates, users
in URLs), environment variables, annotations of others than Kubernetes, registry credentials.
Not read at all: Secrets, ConfigMaps, kubeconfig files, pods other than the driver's.
Names of nodes, namespaces, pods, claims and networks, and addresses, are in here. Look through the
files before you pass them on.

Files:
{files}
Could not be collected:
{missing}
"""


async def collect(
    cluster: ClusterSight | None,
    node: NodeSight | None,
    looked_at: Sequence[str],
    results: Sequence[Result],
) -> Mapping[str, bytes]:
    """Return the files of the archive by their names."""
    gathered = Gathered()
    text = io.StringIO()
    show(looked_at, results, PlainScreen(text), verbose=True)
    gathered.put_text("doctor.txt", "the findings", text.getvalue())
    findings = json.loads(as_json(looked_at, results))
    gathered.put_object("doctor.json", "the findings, for programs", findings)
    if cluster is not None:
        await gather_cluster(cluster, gathered)
    if node is not None:
        await gather_node(node, gathered)
    readme = README.format(
        version=__version__,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        looked_at=clean_text(" and ".join(looked_at)),
        files="".join(f"  {name}: {about}\n" for name, about in gathered.about.items()),
        missing="".join(f"  {line}\n" for line in gathered.missing) or "  nothing\n",
    )
    return {"README.txt": readme.encode(), **gathered.files}
