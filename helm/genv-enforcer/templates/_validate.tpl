{{- /* What the schema cannot say. All complaints at once, a sentence each; the service itself would refuse most of it. */ -}}
{{- define "genv-enforcer.validate" -}}
{{- $complaints := list -}}
{{- range list "times" "node" "remote" "quota" "extras" "monitoring" "network" -}}
{{- range include (printf "genv-enforcer.validate.%s" .) $ | splitList "\n" -}}
{{- with trim . -}}
{{- $complaints = append $complaints . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $complaints -}}
{{- fail (printf "\n%s" (join "\n" .)) -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.times" -}}
{{- $settings := .Values.settings -}}
{{- $day := int64 86400000 -}}
{{- range list
  (list "settings.interval" $settings.interval 1000 "1s")
  (list "settings.gracePeriod" $settings.gracePeriod 0 "0s")
  (list "settings.detachedGrace" $settings.detachedGrace 0 "0s")
  (list "settings.lockTimeout" $settings.lockTimeout 1 "1ms")
  (list "settings.gpuTimeout" $settings.gpuTimeout 1 "1ms")
  (list "settings.killAfter" (ternary nil $settings.killAfter (eq (toString $settings.killAfter) "never")) 1000 "1s")
  (list "remote.timeout" .Values.remote.timeout 1 "1ms")
-}}
{{- $millis := include "genv-enforcer.millis" (index . 1) -}}
{{- if and $millis (or (lt (int64 $millis) (int64 (index . 2))) (gt (int64 $millis) $day)) }}
{{ index . 0 }} is {{ index . 1 }}: set a time from {{ index . 3 }} to 24h
{{- if and (eq (index . 0) "settings.interval") (eq $millis "0") }}, for a single cycle would end the pod, which Kubernetes would start again{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.node" -}}
{{- if eq .Values.mode "node" -}}
{{- range list "hosts" "hostfile.existingConfigMap" "username" "identity.existingSecret" "identity.passphraseKey" "knownHosts.content" "knownHosts.existingConfigMap" "knownHosts.existingSecret" "sshConfig.content" "sshConfig.existingConfigMap" "sshConfig.existingSecret" "timeout" "sudo" "agent" "stateDir" "exitOnError" "quiet" -}}
{{- if include "genv-enforcer.textAt" (dict "root" $ "path" (printf "remote.%s" .)) }}
remote.{{ . }} is set, which means other machines than the nodes: set mode=remote, or take it out
{{- end -}}
{{- end -}}
{{- else if ne .Values.settings.stateDir "/var/tmp/genv" }}
settings.stateDir is {{ .Values.settings.stateDir }}, which is a directory of nodes: with mode=remote set remote.stateDir instead
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.remote" -}}
{{- $remote := .Values.remote -}}
{{- if eq .Values.mode "remote" -}}
{{- if not (or $remote.hosts $remote.hostfile.existingConfigMap) }}
mode is remote, but no machines are named: set remote.hosts or remote.hostfile.existingConfigMap
{{- end -}}
{{- range $name := list "knownHosts" "sshConfig" -}}
{{- $from := index $remote $name -}}
{{- $sources := compact (list $from.content $from.existingConfigMap $from.existingSecret) -}}
{{- if gt (len $sources) 1 }}
remote.{{ $name }} has {{ len $sources }} sources: set only one of content, existingConfigMap and existingSecret
{{- else if and (eq $name "knownHosts") (not $sources) }}
mode is remote, but the keys of the machines are not known: set remote.knownHosts.content, .existingConfigMap or .existingSecret, for a machine whose key is unknown is refused
{{- end -}}
{{- end -}}
{{- $configured := or $remote.sshConfig.content $remote.sshConfig.existingConfigMap $remote.sshConfig.existingSecret -}}
{{- if not (or $remote.identity.existingSecret $configured) }}
mode is remote, but there is no key to log in with: set remote.identity.existingSecret, or name one in remote.sshConfig
{{- end -}}
{{- if and $remote.identity.passphraseKey (not $remote.identity.existingSecret) }}
remote.identity.passphraseKey opens a key that is not there: set remote.identity.existingSecret too, or take it out
{{- end -}}
{{- $named := and $remote.hosts (not $remote.hostfile.existingConfigMap) -}}
{{- range $remote.hosts -}}
{{- $named = and $named (contains "@" .) -}}
{{- end -}}
{{- if not (or $remote.username $configured $named) }}
mode is remote, but nothing says who logs in: set remote.username, or name him with every machine (raz@gpu-1) or in remote.sshConfig
{{- end -}}
{{- if eq (toString $remote.agent) "genv" -}}
{{- range list "protectedExecutables" "exemptUsers" -}}
{{- if index $.Values.settings . }}
settings.{{ . }} cannot be kept with remote.agent=genv, for genv's own protocol does not tell who runs what: set remote.agent=shell, or take it out
{{- end -}}
{{- end -}}
{{- if not (has (toString .Values.settings.killAfter) (list "never" "<nil>" "")) }}
settings.killAfter is {{ .Values.settings.killAfter }}, but genv's own protocol has no SIGKILL: set remote.agent=shell, or settings.killAfter=never
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.quota" -}}
{{- range .Values.settings.exemptUsers -}}
{{- $text := include "genv-enforcer.text" (dict "value" .) -}}
{{- if and (regexMatch "^[0-9]+$" $text) (or (gt (len $text) 10) (gt (int64 $text) 4294967294)) }}
settings.exemptUsers names {{ $text }}, which is no uid: the highest one is 4294967294
{{- end -}}
{{- end -}}
{{- if and (has (toString .Values.settings.maxDevicesPerUserMode) (list "audit" "enforce" "true")) (kindIs "invalid" .Values.settings.maxDevicesPerUser) (not .Values.settings.maxDevicesForUser) }}
settings.maxDevicesPerUserMode is {{ .Values.settings.maxDevicesPerUserMode }}, but there is no limit: set settings.maxDevicesPerUser or settings.maxDevicesForUser, or take it out
{{- end -}}
{{- if regexMatch "^(127\\.|localhost$|::1$)" (toString .Values.settings.httpHost) }}
settings.httpHost is {{ .Values.settings.httpHost }}, where neither the probes nor Prometheus reach the service: take it out
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.extras" -}}
{{- $values := merge (include "genv-enforcer.variables" . | fromYaml) (include "genv-enforcer.remoteVariables" . | fromYaml) -}}
{{- $values = merge $values (dict
  "GENV_TMPDIR" "settings.stateDir"
  "GENV_ENFORCER_API_TOKEN_FILE" "apiToken.existingSecret"
  "GENV_ENFORCER_REMOTE_HOSTS" "remote.hosts"
  "GENV_ENFORCER_REMOTE_HOSTFILE" "remote.hosts"
  "GENV_ENFORCER_REMOTE_IDENTITY_FILE" "remote.identity.existingSecret"
  "GENV_ENFORCER_REMOTE_PASSPHRASE_FILE" "remote.identity.passphraseKey"
  "GENV_ENFORCER_REMOTE_KNOWN_HOSTS" "remote.knownHosts"
  "GENV_ENFORCER_REMOTE_SSH_CONFIG" "remote.sshConfig") -}}
{{- range $each := .Values.extraEnv -}}
{{- if eq $each.name "GENV_ENFORCER_NODE_NAME" }}
extraEnv sets {{ $each.name }}, which is the name of the node: take it out
{{- end -}}
{{- with get $values $each.name }}
extraEnv sets {{ $each.name }}, which has a value of its own: set {{ . }} instead
{{- end -}}
{{- end -}}
{{- range .Values.extraVolumes -}}
{{- if has .name (list "state" "files") }}
extraVolumes has a volume {{ .name }}, which is a name of the chart's own: call it otherwise
{{- end -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{- if has (trimSuffix "/" .mountPath) (list (include "genv-enforcer.folder" $) (trimSuffix "/" $.Values.settings.stateDir)) }}
extraVolumeMounts has something at {{ .mountPath }}, where the chart mounts what the service needs: take it out
{{- end -}}
{{- end -}}
{{- range $name := list "commonLabels" "podLabels" -}}
{{- range $label := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- if hasKey (index $.Values $name) $label }}
{{ $name }} sets {{ $label }}, by which the pods are found: take it out, or set nameOverride
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.monitoring" -}}
{{- $monitor := .Values.serviceMonitor -}}
{{- if and $monitor.enabled (not .Values.service.enabled) }}
serviceMonitor.enabled needs a Service to find the pods: set service.enabled=true
{{- end -}}
{{- if gt (include "genv-enforcer.millis" $monitor.scrapeTimeout | int64) (include "genv-enforcer.millis" $monitor.interval | int64) }}
serviceMonitor.scrapeTimeout is {{ $monitor.scrapeTimeout }}, longer than serviceMonitor.interval ({{ $monitor.interval }}): Prometheus would refuse that
{{- end -}}
{{- $interval := include "genv-enforcer.millis" .Values.settings.interval | default "10000" | int64 -}}
{{- if and .Values.prometheusRule.enabled (le (include "genv-enforcer.millis" .Values.prometheusRule.staleAfter | int64) $interval) }}
prometheusRule.staleAfter is {{ .Values.prometheusRule.staleAfter }}, not longer than settings.interval ({{ .Values.settings.interval | default "10s" }}): every cycle would be an alert
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.network" -}}
{{- if and .Values.networkPolicy.enabled (eq .Values.mode "remote") -}}
{{- $ports := list -}}
{{- range .Values.networkPolicy.sshPorts -}}
{{- $ports = append $ports (int64 . | toString) -}}
{{- end -}}
{{- range .Values.remote.hosts -}}
{{- $address := splitList "@" . | last -}}
{{- $port := ternary (regexFind "\\]:[0-9]+$" $address | trimPrefix "]:") (regexFind ":[0-9]+$" $address | trimPrefix ":") (hasPrefix "[" $address) | default "22" -}}
{{- if not (has $port $ports) }}
remote.hosts names {{ . }}, but the NetworkPolicy lets nobody connect to port {{ $port }}: add it to networkPolicy.sshPorts
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
