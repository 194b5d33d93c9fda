{{- /* Names and labels are quoted wherever they stand: a release may be called on, null or 1e3. */ -}}
{{- define "genv-enforcer.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* Not longer than the name of a Service may be. */ -}}
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

{{- /* By these the pods are found; they never change, for a selector cannot. */ -}}
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

{{- /* Of everything that is made. Ours win, for others rely on them. */ -}}
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

{{- /* A time in milliseconds: 500ms, 10s, 2m, 1h; a bare number is seconds. Empty where it is not set. */ -}}
{{- define "genv-enforcer.millis" -}}
{{- $text := include "genv-enforcer.text" (dict "value" .) -}}
{{- if $text -}}
{{- $unit := regexFind "[a-z]*$" $text | default "s" -}}
{{- mul (regexFind "^[0-9]+" $text | int64) (get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) $unit) -}}
{{- end -}}
{{- end -}}
