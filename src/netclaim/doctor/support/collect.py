"""Everything that goes into the archive: the findings, and what they were found in.

Promise: what may be read is gathered, and what may not is listed.
"""

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from netclaim import __version__
from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Result
from netclaim.doctor.node.sight import NodeSight
from netclaim.doctor.show import as_json, show
from netclaim.doctor.support.clean import clean_text
from netclaim.doctor.support.cluster import gather_cluster
from netclaim.doctor.support.gathered import Gathered
from netclaim.doctor.support.node import gather_node
from netclaim.screen import PlainScreen

README: Final = """\
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
