"""The shapes of a pod's volumes: every field that Kubernetes 1.34 to 1.37 has there.

What a volume's driver is given stays the user's own. No rules: nothing here mounts anything.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.schema.shape import Fields, ListOf, MapOf, Shape
from netclaim.schema.shapes_meta import (
    ANYTHING,
    FLAG,
    LABEL_SELECTOR,
    METADATA,
    QUANTITY,
    TEXT,
    TEXTS,
    WHOLE,
    each,
)

__all__ = ["FIELD_REF", "NAMED", "RESOURCE_FIELD_REF", "VOLUME", "VOLUME_CLAIM"]

NAMED: Final = Fields({"name": TEXT})  # another object of the namespace
FIELD_REF: Final = Fields(each(TEXT, "apiVersion", "fieldPath"))
RESOURCE_FIELD_REF: Final = Fields({**each(TEXT, "containerName", "resource"), "divisor": QUANTITY})

CLAIM_SPEC: Final = Fields(
    {
        "accessModes": TEXTS,
        "selector": LABEL_SELECTOR,
        "resources": Fields(each(MapOf(QUANTITY), "limits", "requests")),
        "dataSource": Fields(each(TEXT, "apiGroup", "kind", "name")),
        "dataSourceRef": Fields(each(TEXT, "apiGroup", "kind", "name", "namespace")),
        **each(TEXT, "volumeName", "storageClassName", "volumeMode", "volumeAttributesClassName"),
    }
)
VOLUME_CLAIM: Final = Fields(
    {
        **each(TEXT, "apiVersion", "kind"),
        "metadata": METADATA,
        "spec": CLAIM_SPEC,
        "status": ANYTHING,
    }
)

ITEMS: Final = ListOf(Fields({**each(TEXT, "key", "path"), **each(WHOLE, "mode", "user")}))
FACTS: Final = ListOf(
    Fields(
        {
            "path": TEXT,
            "fieldRef": FIELD_REF,
            "resourceFieldRef": RESOURCE_FIELD_REF,
            **each(WHOLE, "mode", "user"),
        }
    )
)
FROM_OBJECT: Final = Fields({"name": TEXT, "items": ITEMS, "optional": FLAG})
MODES: Final = each(WHOLE, "defaultMode", "defaultUser")
PROJECTION: Final = Fields(
    {
        "secret": FROM_OBJECT,
        "configMap": FROM_OBJECT,
        "downwardAPI": Fields({"items": FACTS}),
        "serviceAccountToken": Fields(
            {**each(TEXT, "audience", "path"), **each(WHOLE, "expirationSeconds", "user")}
        ),
        "clusterTrustBundle": Fields(
            {
                **each(TEXT, "name", "signerName", "path"),
                "labelSelector": LABEL_SELECTOR,
                "optional": FLAG,
                "user": WHOLE,
            }
        ),
        "podCertificate": Fields(
            {
                **each(TEXT, "signerName", "keyType", "credentialBundlePath", "keyPath"),
                "certificateChainPath": TEXT,
                **each(WHOLE, "maxExpirationSeconds", "user"),
                "userAnnotations": MapOf(TEXT),
            }
        ),
    }
)


def _disk(*texts: str, **more: Shape) -> Fields:
    """A volume that something outside the cluster holds: all may be mounted for reading only."""
    return Fields({**each(TEXT, *texts), "readOnly": FLAG, **more})


SOURCES: Final[Mapping[str, Shape]] = {
    "hostPath": Fields(each(TEXT, "path", "type")),
    "emptyDir": Fields({"medium": TEXT, "sizeLimit": QUANTITY, "mode": WHOLE}),
    "secret": Fields({"secretName": TEXT, "items": ITEMS, "optional": FLAG, **MODES}),
    "configMap": Fields({**FROM_OBJECT.known, **MODES}),
    "downwardAPI": Fields({"items": FACTS, **MODES}),
    "projected": Fields({"sources": ListOf(PROJECTION), **MODES}),
    "persistentVolumeClaim": _disk("claimName"),
    "ephemeral": Fields(
        {"volumeClaimTemplate": Fields({"metadata": METADATA, "spec": CLAIM_SPEC})}
    ),
    "image": Fields(each(TEXT, "reference", "pullPolicy")),
    "csi": _disk(
        "driver", "fsType", volumeAttributes=MapOf(TEXT), nodePublishSecretRef=NAMED
    ),
    "nfs": _disk("server", "path"),
    "iscsi": _disk(
        "targetPortal", "iqn", "iscsiInterface", "fsType", "initiatorName",
        lun=WHOLE, portals=TEXTS, chapAuthDiscovery=FLAG, chapAuthSession=FLAG, secretRef=NAMED,
    ),
    "fc": _disk("fsType", lun=WHOLE, targetWWNs=TEXTS, wwids=TEXTS),
    "cephfs": _disk("path", "user", "secretFile", monitors=TEXTS, secretRef=NAMED),
    "rbd": _disk("image", "fsType", "pool", "user", "keyring", monitors=TEXTS, secretRef=NAMED),
    "glusterfs": _disk("endpoints", "path"),
    "flexVolume": _disk("driver", "fsType", secretRef=NAMED, options=MapOf(TEXT)),
    "cinder": _disk("volumeID", "fsType", secretRef=NAMED),
    "gcePersistentDisk": _disk("pdName", "fsType", partition=WHOLE),
    "awsElasticBlockStore": _disk("volumeID", "fsType", partition=WHOLE),
    "azureDisk": _disk("diskName", "diskURI", "cachingMode", "fsType", "kind"),
    "azureFile": _disk("secretName", "shareName"),
    "portworxVolume": _disk("volumeID", "fsType"),
    "quobyte": _disk("registry", "volume", "user", "group", "tenant"),
    "scaleIO": _disk(
        "gateway", "system", "protectionDomain", "storagePool", "storageMode", "volumeName",
        "fsType", sslEnabled=FLAG, secretRef=NAMED,
    ),
    "storageos": _disk("volumeName", "volumeNamespace", "fsType", secretRef=NAMED),
    "vsphereVolume": Fields(
        each(TEXT, "volumePath", "fsType", "storagePolicyName", "storagePolicyID")
    ),
    "photonPersistentDisk": Fields(each(TEXT, "pdID", "fsType")),
    "flocker": Fields(each(TEXT, "datasetName", "datasetUUID")),
    "gitRepo": Fields(each(TEXT, "repository", "revision", "directory")),
}  # fmt: skip
VOLUME: Final = Fields({"name": TEXT, **SOURCES})
