"""The shape of a pod's spec: every field that Kubernetes 1.34 to 1.37 has there.

kubectl refuses what is not among them; so does `netclaim check`, since a `resourceClaim` that was
meant to be `resourceClaims` is a pod without its interface. A field that is forgotten here would be
refused for nothing: what is not certain is an open shape.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.schema.shape import Fields, ListOf, MapOf, Shape
from netclaim.schema.shapes_meta import (
    FLAG,
    LABEL_SELECTOR,
    METADATA,
    PORT,
    QUANTITY,
    TEXT,
    TEXTS,
    WHOLE,
    each,
)
from netclaim.schema.shapes_volumes import FIELD_REF, NAMED, RESOURCE_FIELD_REF, VOLUME

__all__ = ["POD_SPEC", "POD_TEMPLATE"]

PAIRS: Final = ListOf(Fields(each(TEXT, "name", "value")))
RESOURCES: Final = Fields(
    {
        **each(MapOf(QUANTITY), "limits", "requests"),
        "claims": ListOf(Fields(each(TEXT, "name", "request"))),
    }
)

KEY: Final = Fields({**each(TEXT, "name", "key"), "optional": FLAG})
ENV: Final = Fields(
    {
        **each(TEXT, "name", "value"),
        "valueFrom": Fields(
            {
                "fieldRef": FIELD_REF,
                "resourceFieldRef": RESOURCE_FIELD_REF,
                **each(KEY, "configMapKeyRef", "secretKeyRef"),
                "fileKeyRef": Fields({**each(TEXT, "volumeName", "path", "key"), "optional": FLAG}),
            }
        ),
    }
)
OPTIONAL: Final = Fields({"name": TEXT, "optional": FLAG})
ENV_FROM: Final = Fields({"prefix": TEXT, **each(OPTIONAL, "configMapRef", "secretRef")})

HANDLERS: Final[Mapping[str, Shape]] = {
    "exec": Fields({"command": TEXTS}),
    "httpGet": Fields(
        {**each(TEXT, "path", "host", "scheme", "protocol"), "port": PORT, "httpHeaders": PAIRS}
    ),
    "tcpSocket": Fields({"port": PORT, "host": TEXT}),
}
PROBE: Final = Fields(
    {
        **HANDLERS,
        "grpc": Fields({"port": WHOLE, **each(TEXT, "service", "mode")}),
        **each(WHOLE, "initialDelaySeconds", "timeoutSeconds", "periodSeconds"),
        **each(WHOLE, "successThreshold", "failureThreshold", "terminationGracePeriodSeconds"),
    }
)
HOOK: Final = Fields({**HANDLERS, "sleep": Fields({"seconds": WHOLE})})

PROFILE: Final = Fields(each(TEXT, "type", "localhostProfile"))
SECURITY: Final[Mapping[str, Shape]] = {
    "seLinuxOptions": Fields(each(TEXT, "user", "role", "type", "level")),
    "windowsOptions": Fields(
        {
            **each(TEXT, "gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"),
            "hostProcess": FLAG,
        }
    ),
    **each(WHOLE, "runAsUser", "runAsGroup"),
    "runAsNonRoot": FLAG,
    **each(PROFILE, "seccompProfile", "appArmorProfile"),
}
CONTAINER_SECURITY: Final = Fields(
    {
        **SECURITY,
        "capabilities": Fields(each(TEXTS, "add", "drop")),
        **each(FLAG, "privileged", "readOnlyRootFilesystem", "allowPrivilegeEscalation"),
        "procMount": TEXT,
    }
)
POD_SECURITY: Final = Fields(
    {
        **SECURITY,
        "supplementalGroups": ListOf(WHOLE),
        "fsGroup": WHOLE,
        "sysctls": PAIRS,
        **each(TEXT, "supplementalGroupsPolicy", "fsGroupChangePolicy", "seLinuxChangePolicy"),
    }
)

MOUNT: Final = Fields(
    {
        **each(TEXT, "name", "mountPath", "subPath", "subPathExpr"),
        **each(TEXT, "mountPropagation", "recursiveReadOnly"),
        "readOnly": FLAG,
        "bindMountOptions": TEXTS,
    }
)
RESTART_RULE: Final = Fields(
    {"action": TEXT, "exitCodes": Fields({"operator": TEXT, "values": ListOf(WHOLE)})}
)
CONTAINER: Final = Fields(
    {
        **each(TEXT, "name", "image", "workingDir", "imagePullPolicy", "restartPolicy"),
        **each(TEXTS, "command", "args"),
        "ports": ListOf(
            Fields(
                {
                    **each(TEXT, "name", "protocol", "hostIP"),
                    **each(WHOLE, "hostPort", "containerPort"),
                }
            )
        ),
        "envFrom": ListOf(ENV_FROM),
        "env": ListOf(ENV),
        "resources": RESOURCES,
        "resizePolicy": ListOf(Fields(each(TEXT, "resourceName", "restartPolicy"))),
        "restartPolicyRules": ListOf(RESTART_RULE),
        "volumeMounts": ListOf(MOUNT),
        "volumeDevices": ListOf(Fields(each(TEXT, "name", "devicePath"))),
        **each(PROBE, "livenessProbe", "readinessProbe", "startupProbe"),
        "lifecycle": Fields({**each(HOOK, "postStart", "preStop"), "stopSignal": TEXT}),
        **each(TEXT, "terminationMessagePath", "terminationMessagePolicy"),
        "securityContext": CONTAINER_SECURITY,
        **each(FLAG, "stdin", "stdinOnce", "tty"),
    }
)

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
NODE_TERM: Final = Fields(
    each(
        ListOf(Fields({**each(TEXT, "key", "operator"), "values": TEXTS})),
        "matchExpressions",
        "matchFields",
    )
)
POD_TERM: Final = Fields(
    {
        **each(LABEL_SELECTOR, "labelSelector", "namespaceSelector"),
        **each(TEXTS, "namespaces", "matchLabelKeys", "mismatchLabelKeys"),
        "topologyKey": TEXT,
    }
)
POD_AFFINITY: Final = Fields(
    {
        REQUIRED: ListOf(POD_TERM),
        PREFERRED: ListOf(Fields({"weight": WHOLE, "podAffinityTerm": POD_TERM})),
    }
)
AFFINITY: Final = Fields(
    {
        "nodeAffinity": Fields(
            {
                REQUIRED: Fields({"nodeSelectorTerms": ListOf(NODE_TERM)}),
                PREFERRED: ListOf(Fields({"weight": WHOLE, "preference": NODE_TERM})),
            }
        ),
        **each(POD_AFFINITY, "podAffinity", "podAntiAffinity"),
    }
)
SPREAD: Final = Fields(
    {
        **each(WHOLE, "maxSkew", "minDomains"),
        **each(TEXT, "topologyKey", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"),
        "labelSelector": LABEL_SELECTOR,
        "matchLabelKeys": TEXTS,
    }
)
TOLERATION: Final = Fields(
    {**each(TEXT, "key", "operator", "value", "effect"), "tolerationSeconds": WHOLE}
)

POD_SPEC: Final = Fields(
    {
        **each(ListOf(CONTAINER), "containers", "initContainers"),
        "ephemeralContainers": ListOf(Fields({**CONTAINER.known, "targetContainerName": TEXT})),
        "volumes": ListOf(VOLUME),
        "resourceClaims": ListOf(
            Fields(each(TEXT, "name", "resourceClaimName", "resourceClaimTemplateName"))
        ),
        "resources": RESOURCES,
        "overhead": MapOf(QUANTITY),
        **each(TEXT, "nodeName", "schedulerName", "restartPolicy", "runtimeClassName"),
        "nodeSelector": MapOf(TEXT),
        "affinity": AFFINITY,
        "tolerations": ListOf(TOLERATION),
        "topologySpreadConstraints": ListOf(SPREAD),
        **each(ListOf(NAMED), "schedulingGates", "imagePullSecrets"),
        "schedulingGroup": Fields({"podGroupName": TEXT}),
        "workloadRef": Fields(each(TEXT, "name", "podGroup", "podGroupReplicaKey")),  # 1.35 alone
        **each(TEXT, "priorityClassName", "preemptionPolicy"),
        **each(WHOLE, "priority", "activeDeadlineSeconds", "terminationGracePeriodSeconds"),
        **each(FLAG, "hostNetwork", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"),
        **each(TEXT, "hostname", "subdomain", "hostnameOverride", "dnsPolicy"),
        **each(FLAG, "setHostnameAsFQDN", "enableServiceLinks", "automountServiceAccountToken"),
        "hostAliases": ListOf(Fields({"ip": TEXT, "hostnames": TEXTS})),
        "dnsConfig": Fields({**each(TEXTS, "nameservers", "searches"), "options": PAIRS}),
        **each(TEXT, "serviceAccountName", "serviceAccount"),
        "securityContext": POD_SECURITY,
        "readinessGates": ListOf(Fields({"conditionType": TEXT})),
        "os": NAMED,
        "evictionResponders": ListOf(Fields({"name": TEXT, "priority": WHOLE})),
    }
)
POD_TEMPLATE: Final = Fields({"metadata": METADATA, "spec": POD_SPEC})
