"""How much memory thousands of documents take."""

import subprocess
import sys
from pathlib import Path

DOCUMENTS = 5_000
BYTES_MAX = 2_500  # for each of these documents; 1,500 were measured, and 9,000 with their nodes
PEAK = """
import resource, sys
from netclaim.check.report import check_files
from netclaim.manifests.text.files import read_files
report = check_files(read_files(sys.argv[1:]))
assert not report.findings
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
POD = """---
apiVersion: v1
kind: Pod
metadata:
  name: pod-{}
spec:
  containers:
  - name: a
    image: b
"""


def peak(directory: Path, documents: int) -> int:
    """Return the most memory that a process had which checked so many documents, in bytes."""
    file = directory / f"{documents}.yaml"
    file.write_text("".join(map(POD.format, range(documents))))
    command = [sys.executable, "-c", PEAK, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_documents_keep_no_nodes(tmp_path: Path) -> None:
    """Checking many documents keeps their texts and objects, not the nodes that YAML made."""
    each = (peak(tmp_path, DOCUMENTS) - peak(tmp_path, 1)) / DOCUMENTS
    assert each < BYTES_MAX, f"{each:.0f} bytes"
