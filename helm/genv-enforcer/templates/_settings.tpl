{{- /* Every setting of the service and its value, except files: see genv-enforcer.files. Most are called like their values. */ -}}
{{- define "genv-enforcer.variables" -}}
GENV_TERMINATE_PROCESSES: settings.terminateProcesses
QUARKUS_LOG_CONSOLE_JSON_ENABLED: settings.logJson
QUARKUS_HTTP_HOST: settings.httpHost
QUARKUS_HTTP_PORT: settings.httpPort
QUARKUS_MANAGEMENT_HOST: settings.httpHost
QUARKUS_MANAGEMENT_PORT: settings.managementPort
GENV_ENFORCER_DATA_MAX_SIZE: data.maxSize
GENV_ENFORCER_DATA_MAX_AGE: data.maxAge
GENV_ENFORCER_TERMINAL_MESSAGES: messages.terminal
GENV_ENFORCER_AUDIT_MESSAGES: messages.inAudit
GENV_ENFORCER_PUBLIC_URL: messages.publicUrl
{{- range $name, $_ := omit .Values.settings "terminateProcesses" "logJson" "httpHost" "httpPort" "managementPort" "httpAllowedHosts" }}
GENV_ENFORCER_{{ snakecase $name | upper }}: settings.{{ $name }}
{{- end }}
{{- range $name, $_ := omit .Values.messages.mail "existingSecret" "key" "addresses" }}
GENV_ENFORCER_MAIL_{{ snakecase $name | upper }}: messages.mail.{{ $name }}
{{- end }}
{{- range $name, $_ := omit .Values.messages.webhook "existingSecret" "urlKey" "secretKey" }}
GENV_ENFORCER_WEBHOOK_{{ snakecase $name | upper }}: messages.webhook.{{ $name }}
{{- end }}
{{- end -}}

{{- /* The settings for machines over SSH: any of them makes the service enforce over SSH. */ -}}
{{- define "genv-enforcer.remoteVariables" -}}
GENV_ENFORCER_REMOTE_USERNAME: remote.username
GENV_ENFORCER_REMOTE_TIMEOUT: remote.timeout
GENV_ENFORCER_REMOTE_SUDO: remote.sudo
GENV_ENFORCER_REMOTE_STATE_DIR: remote.stateDir
GENV_ENFORCER_REMOTE_QUIET: remote.quiet
{{- end -}}

{{- /*
The text of a value for the service; empty if the value is not set. Helm reads numbers as floating point, and would write large
ones with an exponent. It reads "off" without quotes as false.
*/ -}}
{{- define "genv-enforcer.text" -}}
{{- $modes := list "nonEnvProcesses" "inactiveEnvProcesses" "envDevices" "envMemory" "envOwner" "idleDevices" "idleProcesses" "maxDevicesPerUserMode" "maxMemoryPerUserMode" -}}
{{- $name := .path | default "" | splitList "." | last -}}
{{- if kindIs "invalid" .value -}}
{{- else if kindIs "bool" .value -}}
{{- if has $name $modes -}}
{{- ternary "enforce" "off" .value -}}
{{- else if eq $name "genvMetrics" -}}
off
{{- else if eq $name "terminateProcesses" -}}
{{- ternary "1" "0" .value -}}
{{- else -}}
{{- .value -}}
{{- end -}}
{{- else if kindIs "float64" .value -}}
{{- int64 .value -}}
{{- else if kindIs "map" .value -}}
{{- $entries := list -}}
{{- range $key, $each := .value -}}
{{- $entries = append $entries (printf "%s=%s" $key (include "genv-enforcer.text" (dict "value" $each))) -}}
{{- end -}}
{{- join "," $entries -}}
{{- else if kindIs "slice" .value -}}
{{- $entries := list -}}
{{- range .value -}}
{{- $entries = append $entries (include "genv-enforcer.text" (dict "value" .)) -}}
{{- end -}}
{{- join "," $entries -}}
{{- else -}}
{{- .value -}}
{{- end -}}
{{- end -}}

{{- /* The volume of the database. Kubernetes evicts a pod whose emptyDir is above its limit. */ -}}
{{- define "genv-enforcer.data" -}}
{{- $own := include "genv-enforcer.ownData" . -}}
{{- if and $own (eq .Values.mode "node") -}}
hostPath:
  path: {{ $own | quote }}
  type: DirectoryOrCreate
{{- else if $own -}}
persistentVolumeClaim:
  claimName: {{ $own | quote }}
{{- else -}}
emptyDir:
  sizeLimit: {{ add (div (mul 2 (include "genv-enforcer.dataBytes" . | int64)) 1048576) 128 }}Mi
{{- end -}}
{{- end -}}

{{- /* The folder of the node or the claim for the database; empty for an emptyDir. */ -}}
{{- define "genv-enforcer.ownData" -}}
{{- ternary .Values.data.hostPath .Values.data.existingClaim (eq .Values.mode "node") | default "" -}}
{{- end -}}

{{- define "genv-enforcer.dataFolder" -}}
/var/lib/genv-enforcer
{{- end -}}

{{- /* The largest size of the database. */ -}}
{{- define "genv-enforcer.dataBytes" -}}
{{- $size := .Values.data.maxSize | default "256MiB" | lower -}}
{{- $units := dict "" 1 "k" 1000 "m" 1000000 "g" 1000000000 "ki" 1024 "mi" 1048576 "gi" 1073741824 -}}
{{- mul (regexFind "^[0-9]+" $size | int64) (get $units (regexFind "[a-z]*$" $size | trimSuffix "b")) -}}
{{- end -}}

{{- /* The text of the value at a path such as settings.mode. */ -}}
{{- define "genv-enforcer.textAt" -}}
{{- $value := .root.Values -}}
{{- range splitList "." .path -}}
{{- $value = index $value . -}}
{{- end -}}
{{- include "genv-enforcer.text" (dict "value" $value "path" .path) -}}
{{- end -}}

{{- /* The environment of the container without extraEnv: a map of names to texts. */ -}}
{{- define "genv-enforcer.environment" -}}
{{- $remote := eq .Values.mode "remote" -}}
{{- $paths := include "genv-enforcer.variables" . | fromYaml -}}
{{- if $remote -}}
{{- $paths = merge (omit $paths "GENV_ENFORCER_STATE_DIR") (include "genv-enforcer.remoteVariables" . | fromYaml) -}}
{{- end -}}
{{- $environment := dict -}}
{{- range $name, $path := $paths -}}
{{- with include "genv-enforcer.textAt" (dict "root" $ "path" $path) -}}
{{- $_ := set $environment $name . -}}
{{- end -}}
{{- end -}}
{{- range include "genv-enforcer.files" . | fromYamlArray -}}
{{- $_ := set $environment .variable (printf "%s/%s" (include "genv-enforcer.folder" $) .file) -}}
{{- end -}}
{{- $_ := set $environment "GENV_ENFORCER_DATA_DIR" (include "genv-enforcer.dataFolder" .) -}}
{{- if and $remote .Values.remote.hosts .Values.remote.hostfile.existingConfigMap -}}
{{- $_ := set $environment "GENV_ENFORCER_REMOTE_HOSTS" (join "," .Values.remote.hosts) -}}
{{- end -}}
{{- with include "genv-enforcer.allowedHosts" . -}}
{{- $_ := set $environment "GENV_ENFORCER_HTTP_ALLOWED_HOSTS" . -}}
{{- end -}}
{{- toYaml $environment -}}
{{- end -}}

{{- /* The names of the Service, with which pods address it, and the configured names. */ -}}
{{- define "genv-enforcer.allowedHosts" -}}
{{- $names := .Values.settings.httpAllowedHosts | default list -}}
{{- if .Values.ingress.enabled -}}
{{- $names = append $names .Values.ingress.host -}}
{{- end -}}
{{- if .Values.service.enabled -}}
{{- $service := include "genv-enforcer.fullname" . -}}
{{- $domain := printf "%s.%s" $service (include "genv-enforcer.namespace" .) -}}
{{- $names = concat (list $service $domain (printf "%s.svc" $domain) (printf "%s.svc.cluster.local" $domain)) $names -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}
