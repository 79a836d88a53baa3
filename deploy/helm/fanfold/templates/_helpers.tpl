{{- define "fanfold.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- /* The name of the nodes' objects: the release's, with the chart's where that does not stand in it. */ -}}
{{- define "fanfold.fullname" -}}
{{- $name := include "fanfold.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "fanfold.nats" -}}
{{ include "fanfold.fullname" . }}-nats
{{- end }}

{{- define "fanfold.selector" -}}
app.kubernetes.io/name: {{ include "fanfold.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fanfold.natsSelector" -}}
app.kubernetes.io/name: {{ include "fanfold.name" . }}-nats
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fanfold.common" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "fanfold.natsURLs" -}}
{{- if .Values.nats.enabled -}}
{{- $nats := include "fanfold.nats" . -}}
{{- range $i, $_ := until 3 }}{{ if $i }},{{ end }}nats://{{ $nats }}-{{ $i }}.{{ $nats }}:4222{{ end -}}
{{- else -}}
{{- join "," .Values.nats.urls -}}
{{- end -}}
{{- end }}
