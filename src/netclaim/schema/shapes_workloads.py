"""The shapes of what makes pods: every field that Kubernetes 1.34 to 1.37 has in their specs."""

from collections.abc import Mapping
from typing import Final

from netclaim.schema.shape import Fields, ListOf, MapOf, Shape
from netclaim.schema.shapes_meta import (
    ANYTHING,
    FLAG,
    LABEL_SELECTOR,
    METADATA,
    PORT,
    TEXT,
    WHOLE,
    each,
)
from netclaim.schema.shapes_pod import POD_TEMPLATE
from netclaim.schema.shapes_volumes import VOLUME_CLAIM

__all__ = ["WORKLOAD_SPECS"]

COMMON: Final[Mapping[str, Shape]] = {
    "selector": LABEL_SELECTOR,
    "template": POD_TEMPLATE,
    "minReadySeconds": WHOLE,
}
ROLLING: Final = each(PORT, "maxUnavailable", "maxSurge")


def _strategy(rolling: Mapping[str, Shape]) -> Fields:
    return Fields({"type": TEXT, "rollingUpdate": Fields(rolling)})


FAILURE_RULE: Final = Fields(
    {
        "action": TEXT,
        "onExitCodes": Fields({**each(TEXT, "containerName", "operator"), "values": ListOf(WHOLE)}),
        "onPodConditions": ListOf(Fields(each(TEXT, "type", "status"))),
    }
)
SUCCESS_RULE: Final = Fields({"succeededIndexes": TEXT, "succeededCount": WHOLE})
JOB: Final = Fields(
    {
        "selector": LABEL_SELECTOR,
        "template": POD_TEMPLATE,
        **each(WHOLE, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
        **each(WHOLE, "backoffLimitPerIndex", "maxFailedIndexes", "ttlSecondsAfterFinished"),
        "podFailurePolicy": Fields({"rules": ListOf(FAILURE_RULE)}),
        "successPolicy": Fields({"rules": ListOf(SUCCESS_RULE)}),
        **each(FLAG, "manualSelector", "suspend"),
        **each(TEXT, "completionMode", "podReplacementPolicy", "managedBy"),
        "scheduling": ANYTHING,  # since 1.37, and still in the making
    }
)

WORKLOAD_SPECS: Final[Mapping[str, Fields]] = {
    "Deployment": Fields(
        {
            **COMMON,
            **each(WHOLE, "replicas", "revisionHistoryLimit", "progressDeadlineSeconds"),
            "strategy": _strategy(ROLLING),
            "paused": FLAG,
        }
    ),
    "ReplicaSet": Fields({**COMMON, "replicas": WHOLE}),
    "ReplicationController": Fields({**COMMON, "selector": MapOf(TEXT), "replicas": WHOLE}),
    "StatefulSet": Fields(
        {
            **COMMON,
            **each(WHOLE, "replicas", "revisionHistoryLimit"),
            "volumeClaimTemplates": ListOf(VOLUME_CLAIM),
            **each(TEXT, "serviceName", "podManagementPolicy"),
            "updateStrategy": _strategy({"partition": WHOLE, "maxUnavailable": PORT}),
            "persistentVolumeClaimRetentionPolicy": Fields(each(TEXT, "whenDeleted", "whenScaled")),
            "ordinals": Fields({"start": WHOLE}),
        }
    ),
    "DaemonSet": Fields(
        {**COMMON, "revisionHistoryLimit": WHOLE, "updateStrategy": _strategy(ROLLING)}
    ),
    "Job": JOB,
    "CronJob": Fields(
        {
            **each(TEXT, "schedule", "timeZone", "concurrencyPolicy"),
            **each(WHOLE, "startingDeadlineSeconds", "successfulJobsHistoryLimit"),
            "failedJobsHistoryLimit": WHOLE,
            "suspend": FLAG,
            "jobTemplate": Fields({"metadata": METADATA, "spec": JOB}),
        }
    ),
}
