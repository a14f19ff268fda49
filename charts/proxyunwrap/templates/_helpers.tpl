{{/* What the objects of this release are called: the release's name, and the chart's unless it is part of it. */}}
{{- define "proxyunwrap.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "proxyunwrap.operator" -}}
{{ include "proxyunwrap.fullname" . }}-operator
{{- end -}}

{{/* The Service and the MutatingWebhookConfiguration. */}}
{{- define "proxyunwrap.webhook" -}}
{{ include "proxyunwrap.fullname" . }}-webhook
{{- end -}}

{{/* Two names: a Secret's type cannot change, and cert-manager makes its own. */}}
{{- define "proxyunwrap.secret" -}}
{{ include "proxyunwrap.webhook" . }}-{{ ternary "cert-manager" "certificate" .Values.webhook.certManager.enabled }}
{{- end -}}

{{- define "proxyunwrap.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "proxyunwrap.operator" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* By these the operator's pods are found; they never change. */}}
{{- define "proxyunwrap.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "proxyunwrap.labels" -}}
{{ include "proxyunwrap.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* An image's whole name, of (dict "image" … "root" $). */}}
{{- define "proxyunwrap.image" -}}
{{- $registry := default .image.registry .root.Values.global.imageRegistry -}}
{{- $name := ternary (printf "%s/%s" $registry .image.repository) .image.repository (ne $registry "") -}}
{{- if .image.digest -}}
{{ $name }}@{{ .image.digest }}
{{- else -}}
{{ $name }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end -}}
{{- end -}}

{{/* Namespaces whose pods the API server never asks about. */}}
{{- define "proxyunwrap.excluded" -}}
{{- concat (list "kube-system" "kube-node-lease" .Release.Namespace) .Values.namespaces.exclude | uniq | toJson -}}
{{- end -}}
