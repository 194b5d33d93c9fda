{{- /* Checks that the schema cannot express. All errors are reported at once, one sentence each. */ -}}
{{- define "genv-enforcer.validate" -}}
{{- $errors := list -}}
{{- range list "names" "times" "startup" "node" "data" "remote" "quota" "messages" "endpoints" "resources" "extras" "monitoring" "network" -}}
{{- range include (printf "genv-enforcer.validate.%s" .) $ | splitList "\n" -}}
{{- with trim . -}}
{{- $errors = append $errors . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $errors -}}
{{- fail (printf "\n%s" (join "\n" .)) -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.names" -}}
{{- if not (has .Values.mode (list "node" "remote")) }}
mode is {{ .Values.mode | default "not set" }}: set node or remote
{{- end -}}
{{- $name := include "genv-enforcer.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
the release is called {{ .Release.Name }}, which makes {{ $name }}, and no Service may be called that: set fullnameOverride to a name of a-z, 0-9 and dashes that begins with a letter
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.times" -}}
{{- $settings := .Values.settings -}}
{{- $day := int64 86400000 -}}
{{- range list
  (list "settings.interval" $settings.interval 1000 "1s")
  (list "settings.grace" $settings.grace 0 "0s")
  (list "settings.compliancePeriod" $settings.compliancePeriod 1000 "1s")
  (list "settings.lockTimeout" $settings.lockTimeout 1 "1ms")
  (list "settings.gpuTimeout" $settings.gpuTimeout 1 "1ms")
  (list "settings.killAfter" (ternary nil $settings.killAfter (eq (toString $settings.killAfter) "never")) 1000 "1s")
  (list "messages.mail.delay" .Values.messages.mail.delay 0 "0s")
  (list "remote.timeout" .Values.remote.timeout 1 "1ms")
-}}
{{- $millis := include "genv-enforcer.millis" (index . 1) -}}
{{- if and $millis (or (lt (int64 $millis) (int64 (index . 2))) (gt (int64 $millis) $day)) }}
{{ index . 0 }} is {{ index . 1 }}: set a time from {{ index . 3 }} to 24h
{{- if and (eq (index . 0) "settings.interval") (eq $millis "0") }}, for a single cycle would end the pod, which Kubernetes would start again{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The longest first cycle in milliseconds, as the service computes it. */ -}}
{{- define "genv-enforcer.longestCycle" -}}
{{- if eq .Values.mode "remote" -}}
{{- $timeout := include "genv-enforcer.millis" .Values.remote.timeout | default "10000" | int64 -}}
{{- add (mul 4 $timeout) 2000 -}}
{{- else -}}
{{- $gpu := include "genv-enforcer.millis" .Values.settings.gpuTimeout | default "30000" | int64 -}}
{{- $lock := include "genv-enforcer.millis" .Values.settings.lockTimeout | default "5000" | int64 -}}
{{- add (mul 2 $gpu) (mul 4 $lock) 20000 -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.startup" -}}
{{- $probe := .Values.probes.startup -}}
{{- /* The first probe is at the start. */ -}}
{{- $total := mul $probe.periodSeconds (sub $probe.failureThreshold 1) -}}
{{- $longest := div (add (include "genv-enforcer.longestCycle" . | int64) 999) 1000 -}}
{{- if lt $total $longest }}
probes.startup gives up after {{ $total }} s, but with {{ ternary "remote.timeout" "settings.gpuTimeout and settings.lockTimeout" (eq .Values.mode "remote") }} the first cycle may take {{ $longest }} s, and the pod would never come to its end: set probes.startup.failureThreshold to {{ add 1 (div (add $longest $probe.periodSeconds -1) $probe.periodSeconds) }} or more
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.bytes" -}}
{{- if . -}}
{{- mul (regexFind "^[0-9]+" . | int64) (get (dict "M" 1000000 "Mi" 1048576 "G" 1000000000 "Gi" 1073741824) (regexFind "[A-Za-z]+$" .)) -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.resources" -}}
{{- $requests := .Values.resources.requests | default dict -}}
{{- $limits := .Values.resources.limits | default dict -}}
{{- range list "memory" "ephemeral-storage" -}}
{{- $request := include "genv-enforcer.bytes" (get $requests .) -}}
{{- $limit := include "genv-enforcer.bytes" (get $limits .) -}}
{{- if and $request $limit (gt (int64 $request) (int64 $limit)) }}
resources.requests.{{ . }} is {{ get $requests . }}, more than resources.limits.{{ . }} ({{ get $limits . }}): no pod would be made
{{- end -}}
{{- end -}}
{{- $limit := include "genv-enforcer.bytes" $limits.memory -}}
{{- if and $limit (lt (int64 $limit) 167772160) }}
resources.limits.memory is {{ $limits.memory }}, but the service takes about 100Mi even where nothing happens: set 160Mi or more
{{- end -}}
{{- end -}}
