"""What the API server says of claims when they are applied: the policy as CEL, in the chart's form.

Promise: made from the tables of what a claim may say, so that driver and API server agree. Each
variable lists what is wrong; a claim passes if all lists are empty. An alternative of a request
counts as if it were chosen. Limit: what only the driver can know passes, such as the link that a
claim gets, and above `restricted` what a configuration written as a string says. `policy_files`
writes it.
"""

from netclaim.network.policy.levels import LABEL, Level
from scripts.admission.claims import claim_policy
from scripts.admission.classes import class_policy


def manifest() -> str:
    """Return the admission policy and its binding, as YAML."""
    return HEAD + claim_policy() + CLASSES_HEAD + class_policy() + BINDING


# Helm fills in what is between double braces; CEL has none.
NAME = '{{ include "netclaim.fullname" . }}'
LABELS = """\
  labels:
    {{- include "netclaim.labels" . | nindent 4 }}
"""
SETTINGS = ".Values.settings"
DEFAULTS = f"""\
  - name: drivers
    expression: "['{{{{ .Values.driverName }}}}']"
  - name: defaultLevel
    expression: "'{{{{ default "{Level.BASELINE}" {SETTINGS}.policy }}}}'"
"""
HEAD = f"""\
{{{{- if .Values.admission.claims }}}}
# Reports at `kubectl apply` what a claim may not set (docs/security.md). Made from the driver's
# own tables by scripts/policy_files.py. The drivers check every claim themselves and do not rely on
# this: only they know which link a claim gets, and what a configuration written as a string
# contains, which namespaces at `restricted` therefore may not write.
#
# The first three variables are the drivers' names, their default level (--policy) and the further
# programs for claims (--claim-plugins).
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {NAME}-claims
{LABELS}spec:
  failurePolicy: Ignore # what cannot be evaluated is left to the driver
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: [v1, v1beta2, v1beta1]
      operations: [CREATE] # their specs cannot change
      resources: [resourceclaims, resourceclaimtemplates]
  variables:
{DEFAULTS}  - name: claimPlugins
    expression: {{{{ toJson (default list {SETTINGS}.claimPlugins) | quote }}}}
"""
CLASSES_HEAD = f"""\
---
# Compares a claim with each of its DeviceClasses: what they let claims set, and which of them take
# links as a whole. Evaluated once for each class of the cluster.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {NAME}-classes
{LABELS}spec:
  failurePolicy: Ignore
  paramKind:
    apiVersion: {{{{ include "netclaim.resourceApi" . }}}}
    kind: DeviceClass
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: [v1, v1beta2, v1beta1]
      operations: [CREATE]
      resources: [resourceclaims, resourceclaimtemplates]
  variables:
{DEFAULTS}"""
BINDING = f"""\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {NAME}-classes
{LABELS}spec:
  policyName: {NAME}-classes
  validationActions: [Deny]
  paramRef:
    selector: {{}}
    parameterNotFoundAction: Allow
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {NAME}-claims
{LABELS}spec:
  policyName: {NAME}-claims
  validationActions: [Deny]
---
# A label with an invalid level would stop all claims of its namespace: report it where it is set.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {NAME}-namespaces
{LABELS}spec:
  failurePolicy: Ignore
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [namespaces]
  variables:
  - name: level
    expression: >-
      object.metadata.?labels[?'{LABEL}'].orValue('{Level.BASELINE}')
  validations:
  - expression: variables.level in {[str(level) for level in Level]}
    messageExpression: >-
      'the label {LABEL} must be one of {", ".join(map(str, Level))}, not ' + variables.level
    reason: Invalid
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {NAME}-namespaces
{LABELS}spec:
  policyName: {NAME}-namespaces
  validationActions: [Deny]
{{{{- end }}}}
"""
