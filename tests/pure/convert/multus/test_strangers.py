"""What Multus' companions read: named with a reason, and left as it is."""

from textwrap import dedent

import pytest

from tests.pure.convert.converting import convert, converted_file, said

CASES = {
    "a policy": (
        "apiVersion: k8s.cni.cncf.io/v1beta1\nkind: MultiNetworkPolicy\nmetadata: {name: p}\n",
        "m.yaml:2: kind: netclaim has no policies for networks (not carried over)",
    ),
    "OpenShift's operator": (
        (
            "apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\n"
            "spec:\n  additionalNetworks:\n  - {name: a, type: Raw, rawCNIConfig: '{}'}\n"
        ),
        "m.yaml:2: kind: the operator makes NetworkAttachmentDefinitions of additionalNetworks;",
    ),
    "a virtual machine": (
        dedent(
            """\
            apiVersion: kubevirt.io/v1
            kind: VirtualMachine
            metadata: {name: vm}
            spec:
              template:
                spec:
                  networks:
                  - name: default
                    pod: {}
                  - name: lan
                    multus: {networkName: media}
            """
        ),
        "m.yaml:11: spec.template.spec.networks[1].multus: KubeVirt asks Multus for it;",
    ),
    "a workload of another project": (
        dedent(
            """\
            apiVersion: argoproj.io/v1alpha1
            kind: Rollout
            metadata: {name: app}
            spec:
              template:
                metadata:
                  annotations:
                    k8s.v1.cni.cncf.io/networks: media
            """
        ),
        (
            "m.yaml:8: spec.template.metadata.annotations[k8s.v1.cni.cncf.io/networks]: pods of a"
            " Rollout are not converted; write resourceClaims yourself (not carried over)"
        ),
    ),
    "another default network": (
        dedent(
            """\
            apiVersion: v1
            kind: Pod
            metadata:
              name: app
              annotations:
                v1.multus-cni.io/default-network: infra/media
            spec: {containers: []}
            """
        ),
        (
            "m.yaml:6: metadata.annotations[v1.multus-cni.io/default-network]: a pod's default"
            " network stays the cluster's; netclaim adds interfaces to it (not carried over)"
        ),
    ),
    "an annotation in the wrong place": (
        dedent(
            """\
            apiVersion: apps/v1
            kind: Deployment
            metadata:
              name: app
              annotations: {k8s.v1.cni.cncf.io/networks: media}
            spec: {template: {spec: {containers: []}}}
            """
        ),
        "has no effect on a Deployment; it belongs to the pod template",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_converted(case: str) -> None:
    """An object that asks Multus for something else is named, with its line, and stays."""
    text, words = CASES[case]
    (line,) = said(convert(text))
    assert words in line
    assert converted_file(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: media}\n",
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: vm}\n",
    ],
)
def test_what_does_not_concern_multus(text: str) -> None:
    """Nothing is said about objects that ask nothing of Multus."""
    assert not said(convert(text))
