{{- /* Names and labels are always quoted: on, null and 1e3 are valid names of a release. */ -}}
{{- define "genv-enforcer.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* At most as long as the name of a Service. */ -}}
{{- define "genv-enforcer.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- /* Selectors use these labels. They never change, because a selector cannot change. */ -}}
{{- define "genv-enforcer.selectorLabels" -}}
app.kubernetes.io/name: {{ include "genv-enforcer.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: enforcer
{{- end -}}

{{- define "genv-enforcer.testLabels" -}}
app.kubernetes.io/name: {{ include "genv-enforcer.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: test
{{- end -}}

{{- define "genv-enforcer.versionLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}

{{- /* The labels of all objects. The chart's own take precedence, because selectors rely on them. */ -}}
{{- define "genv-enforcer.labels" -}}
{{- $ours := merge (include "genv-enforcer.selectorLabels" . | fromYaml) (include "genv-enforcer.versionLabels" . | fromYaml) -}}
{{- toYaml (merge $ours (.Values.commonLabels | default dict)) -}}
{{- end -}}

{{- define "genv-enforcer.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else -}}
{{- ternary (include "genv-enforcer.fullname" .) "default" .Values.serviceAccount.create -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.image" -}}
{{- $image := .Values.image -}}
{{- $tag := $image.tag -}}
{{- if not (or $tag $image.digest) -}}
{{- $tag = .Chart.AppVersion -}}
{{- end -}}
{{- $image.repository -}}
{{- with $tag }}:{{ . }}{{ end -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- /* A time in milliseconds: 500ms, 10s, 2m, 1h; a bare number is seconds. Empty if it is not set. */ -}}
{{- define "genv-enforcer.millis" -}}
{{- $text := include "genv-enforcer.text" (dict "value" .) -}}
{{- if $text -}}
{{- $unit := regexFind "[a-z]*$" $text | default "s" -}}
{{- mul (regexFind "^[0-9]+" $text | int64) (get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000) $unit) -}}
{{- end -}}
{{- end -}}
