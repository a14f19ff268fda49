{{/* The operator's file: each field is one of operator/src/settings.rs, which refuses others. */}}
{{- define "proxyunwrap.settings" -}}
# Who may speak for clients, where nothing else is said.
trustedPeers:
{{- range .Values.trustedPeers }}
- {{ . | quote }}
{{- end }}
dataplane:
  image: {{ include "proxyunwrap.image" (dict "image" .Values.dataplane.image "root" .) | quote }}
  imagePullPolicy: {{ .Values.dataplane.image.pullPolicy }}
  {{- with .Values.dataplane.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.dataplane.initResources }}
  initResources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
namespaces:
  mode: {{ .Values.namespaces.mode }}
  exclude: {{ toJson .Values.namespaces.exclude }}
  podSecurityDefault: {{ .Values.namespaces.podSecurityDefault }}
webhook:
  configuration: {{ include "proxyunwrap.webhook" . }}
  service: {{ include "proxyunwrap.webhook" . }}
  secret: {{ include "proxyunwrap.secret" . }}
  certificate:
    managed: {{ not .Values.webhook.certManager.enabled }}
    caLife: {{ .Values.webhook.certificate.caLife }}
    life: {{ .Values.webhook.certificate.life }}
  onRefusal: {{ .Values.webhook.onRefusal }}
controller:
  lease: {{ include "proxyunwrap.operator" . }}
  podPatchesPerSecond: {{ int .Values.controller.podPatchesPerSecond }}
  labelNamespaces: {{ .Values.controller.labelNamespaces }}
  restarts: {{ .Values.controller.restarts }}
{{- end -}}
