{{- /* Every setting of the service and its value, except files: see genv-enforcer.files. */ -}}
{{- define "genv-enforcer.variables" -}}
GENV_ENFORCER_INTERVAL: settings.interval
GENV_ENFORCER_MODE: settings.mode
GENV_ENFORCER_NON_ENV_PROCESSES: settings.nonEnvProcesses
GENV_ENFORCER_INACTIVE_ENV_PROCESSES: settings.inactiveEnvProcesses
GENV_ENFORCER_ENV_DEVICES: settings.envDevices
GENV_ENFORCER_ENV_MEMORY: settings.envMemory
GENV_ENFORCER_ENV_OWNER: settings.envOwner
GENV_ENFORCER_UNLISTED_PROCESSES: settings.unlistedProcesses
GENV_ENFORCER_IDLE_DEVICES: settings.idleDevices
GENV_ENFORCER_IDLE_PROCESSES: settings.idleProcesses
GENV_ENFORCER_IDLE_AFTER: settings.idleAfter
GENV_ENFORCER_IDLE_UTILIZATION: settings.idleUtilization
GENV_ENFORCER_MAX_DEVICES_PER_USER: settings.maxDevicesPerUser
GENV_ENFORCER_MAX_DEVICES_FOR_USER: settings.maxDevicesForUser
GENV_ENFORCER_MAX_DEVICES_PER_USER_MODE: settings.maxDevicesPerUserMode
GENV_ENFORCER_MAX_MEMORY_PER_USER: settings.maxMemoryPerUser
GENV_ENFORCER_MAX_MEMORY_FOR_USER: settings.maxMemoryForUser
GENV_ENFORCER_MAX_MEMORY_PER_USER_MODE: settings.maxMemoryPerUserMode
GENV_ENFORCER_GRACE: settings.grace
GENV_ENFORCER_KILL_AFTER: settings.killAfter
GENV_ENFORCER_COMPLIANCE_PERIOD: settings.compliancePeriod
GENV_ENFORCER_MAX_TERMINATIONS_PER_CYCLE: settings.maxTerminationsPerCycle
GENV_ENFORCER_PROTECTED_EXECUTABLES: settings.protectedExecutables
GENV_ENFORCER_EXEMPT_USERS: settings.exemptUsers
GENV_ENFORCER_OVERWRITTEN_ENVIRON: settings.overwrittenEnviron
GENV_ENFORCER_STATE_DIR: settings.stateDir
GENV_ENFORCER_LOCK_TIMEOUT: settings.lockTimeout
GENV_ENFORCER_DATA_MAX_SIZE: data.maxSize
GENV_ENFORCER_DATA_MAX_AGE: data.maxAge
GENV_ENFORCER_NVIDIA_SMI: settings.nvidiaSmi
GENV_ENFORCER_GPU_TIMEOUT: settings.gpuTimeout
GENV_ENFORCER_UNLISTED_MEMORY: settings.unlistedMemory
GENV_ENFORCER_REQUIRE_HOST_PID: settings.requireHostPid
GENV_TERMINATE_PROCESSES: settings.terminateProcesses
GENV_ENFORCER_GENV_METRICS: settings.genvMetrics
QUARKUS_LOG_CONSOLE_JSON_ENABLED: settings.logJson
QUARKUS_HTTP_HOST: settings.httpHost
QUARKUS_HTTP_PORT: settings.httpPort
QUARKUS_MANAGEMENT_HOST: settings.httpHost
QUARKUS_MANAGEMENT_PORT: settings.managementPort
GENV_ENFORCER_TERMINAL_MESSAGES: messages.terminal
GENV_ENFORCER_AUDIT_MESSAGES: messages.inAudit
GENV_ENFORCER_PUBLIC_URL: messages.publicUrl
GENV_ENFORCER_MAIL_HOST: messages.mail.host
GENV_ENFORCER_MAIL_PORT: messages.mail.port
GENV_ENFORCER_MAIL_TLS: messages.mail.tls
GENV_ENFORCER_MAIL_USER: messages.mail.user
GENV_ENFORCER_MAIL_FROM: messages.mail.from
GENV_ENFORCER_MAIL_TO: messages.mail.to
GENV_ENFORCER_MAIL_CC: messages.mail.cc
GENV_ENFORCER_MAIL_REPLY_TO: messages.mail.replyTo
GENV_ENFORCER_MAIL_REPORT_TO: messages.mail.reportTo
GENV_ENFORCER_MAIL_DELAY: messages.mail.delay
GENV_ENFORCER_MAIL_MAX_PER_HOUR: messages.mail.maxPerHour
GENV_ENFORCER_WEBHOOK_URL: messages.webhook.url
GENV_ENFORCER_WEBHOOK_FORMAT: messages.webhook.format
GENV_ENFORCER_WEBHOOK_PLAIN_HTTP: messages.webhook.plainHttp
GENV_ENFORCER_WEBHOOK_EVENTS: messages.webhook.events
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
{{- else if has $name (list "genvMetrics" "unlistedProcesses") -}}
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
{{- if .Values.data.hostPath -}}
hostPath:
  path: {{ .Values.data.hostPath | quote }}
  type: DirectoryOrCreate
{{- else if .Values.data.existingClaim -}}
persistentVolumeClaim:
  claimName: {{ .Values.data.existingClaim | quote }}
{{- else -}}
emptyDir:
  sizeLimit: {{ add (div (mul 2 (include "genv-enforcer.dataBytes" . | int64)) 1048576) 128 }}Mi
{{- end -}}
{{- end -}}

{{- /* Whether the administrator names the volume of the database. */ -}}
{{- define "genv-enforcer.ownData" -}}
{{- .Values.data.hostPath | default .Values.data.existingClaim | default "" -}}
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
{{- if .Values.service.enabled -}}
{{- $service := include "genv-enforcer.fullname" . -}}
{{- $domain := printf "%s.%s" $service (include "genv-enforcer.namespace" .) -}}
{{- $names = concat (list $service $domain (printf "%s.svc" $domain) (printf "%s.svc.cluster.local" $domain)) $names -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}
