"""Every metric that `netclaim driver` serves: the framework's, then the network driver's own."""

from netclaim.framework.telemetry import Metric
from netclaim.network.metrics.table import METRICS as OF_NETWORK
from scripts.driver_page import metrics

ALL: tuple[Metric, ...] = metrics()
METRICS: tuple[Metric, ...] = ALL[: -len(OF_NETWORK)]
# What prometheus_client tells of the process, under the names that all programs have.
PROCESS = (
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
)
