"""Every metric that `netclaim driver` serves: the framework's, then the network driver's own."""

from netclaim.framework.metric_table import METRICS, Declared
from netclaim.network.metrics import METRICS as OF_NETWORK

ALL: tuple[Declared, ...] = (*METRICS, *OF_NETWORK)
# What prometheus_client tells of the process, under the names that all programs have.
PROCESS = (
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
)
