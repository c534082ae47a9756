{{- define "netclaim.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "netclaim.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "netclaim.labels" -}}
{{ include "netclaim.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Not the drivers' labels: whatever selects those must not select the controller. */}}
{{- define "netclaim.controllerSelector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}-controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "netclaim.controllerLabels" -}}
{{ include "netclaim.controllerSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "netclaim.uiSelector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}-ui
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "netclaim.uiLabels" -}}
{{ include "netclaim.uiSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "netclaim.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "netclaim.fullname" . }}-driver
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "netclaim.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The newest version of resource.k8s.io that the cluster serves. */}}
{{- define "netclaim.resourceApi" -}}
{{- if .Capabilities.APIVersions.Has "resource.k8s.io/v1" -}}
resource.k8s.io/v1
{{- else if .Capabilities.APIVersions.Has "resource.k8s.io/v1beta2" -}}
resource.k8s.io/v1beta2
{{- else -}}
resource.k8s.io/v1beta1
{{- end -}}
{{- end -}}

{{/* The settings file: nothing but .Values.settings, so that most changes reach a running driver. */}}
{{- define "netclaim.config" -}}
{{- with fromJson (include "netclaim.settings" .) -}}
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{/* The settings, with what follows from other values unless they say otherwise. */}}
{{- define "netclaim.settings" -}}
{{- $settings := .Values.settings | default dict -}}
{{- if and .Values.controller.enabled (not (hasKey $settings "networkDevices")) -}}
{{- $settings = merge (dict "networkDevices" true) $settings -}}
{{- end -}}
{{- toJson $settings -}}
{{- end -}}

{{/* The settings that a running driver does not pick up: when they change, it is restarted. */}}
{{- define "netclaim.fixedSettings" -}}
{{- $known := dig "properties" dict ((.Files.Get "files/settings.schema.json" | default "{}") | fromJson) -}}
{{- $fixed := dict -}}
{{- range $key, $value := fromJson (include "netclaim.settings" .) -}}
{{- if not (dig $key "x-netclaim-live" false $known) -}}
{{- $_ := set $fixed $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $fixed -}}
{{- end -}}

{{/* handover or replace. */}}
{{- define "netclaim.updateMode" -}}
{{- if ne .Values.update.mode "auto" -}}
{{- .Values.update.mode -}}
{{- else -}}
{{- $versions := list .Capabilities.KubeVersion.Version -}}
{{- range (lookup "v1" "Node" "" "").items -}}
{{- $versions = append $versions .status.nodeInfo.kubeletVersion -}}
{{- end -}}
{{- $mode := "handover" -}}
{{- range $versions -}}
{{- if semverCompare "<1.33.0-0" . -}}
{{- $mode = "replace" -}}
{{- end -}}
{{- end -}}
{{- $mode -}}
{{- end -}}
{{- end -}}

{{/* How Prometheus scrapes, as an endpoint of a ServiceMonitor. */}}
{{- define "netclaim.scrape" -}}
port: metrics
interval: {{ .Values.metrics.serviceMonitor.interval }}
bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token # Prometheus' own
{{- if .Values.metrics.tls.secretName }}
scheme: https
{{- with .Values.metrics.serviceMonitor.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Which pods can have networks by annotation: those with a network namespace of their own. */}}
{{- define "netclaim.annotatedPods" -}}
- name: has-its-own-network
  expression: >-
    !object.spec.?hostNetwork.orValue(false)
    && !('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))
{{- end }}
