"""What a driver reports about itself: logs, metrics, traces. What an author needs of it is public.

subject, logs         the claim and pod that something is about, and how it is logged
metric, metrics       how a metric is declared, and those of every driver
traces, otel          a claim's way as one trace, where somebody collects traces
"""

from netclaim.framework.telemetry.metric import OUTCOMES, Metric
from netclaim.framework.telemetry.subject import claim_fields, pod_fields
from netclaim.framework.telemetry.traces import span

__all__ = ["OUTCOMES", "Metric", "claim_fields", "pod_fields", "span"]
