{{- define "genv-enforcer.validate.quota" -}}
{{- range .Values.settings.exemptUsers -}}
{{- $text := include "genv-enforcer.text" (dict "value" .) -}}
{{- if and (regexMatch "^[0-9]+$" $text) (or (gt (len $text) 10) (gt (int64 $text) 4294967294)) }}
settings.exemptUsers names {{ $text }}, which is no uid: the highest one is 4294967294
{{- end -}}
{{- end -}}
{{- range $what := list "Devices" "Memory" -}}
{{- $limit := printf "max%sPerUser" $what -}}
{{- $users := printf "max%sForUser" $what -}}
{{- $mode := get $.Values.settings (printf "%sMode" $limit) -}}
{{- if and (has (toString $mode) (list "audit" "enforce" "true")) (kindIs "invalid" (get $.Values.settings $limit)) (not (get $.Values.settings $users)) }}
settings.{{ $limit }}Mode is {{ $mode }}, but there is no limit: set settings.{{ $limit }} or settings.{{ $users }}, or remove it
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.endpoints" -}}
{{- $settings := .Values.settings -}}
{{- if and .Values.openshift.enabled (eq .Values.mode "remote") }}
openshift.enabled is for the privileges of mode node, and mode is remote, which needs none: remove it
{{- end -}}
{{- if and .Values.openshift.enabled (eq (include "genv-enforcer.serviceAccountName" .) "default") }}
openshift.enabled would allow its privileges to every pod with the service account default: set serviceAccount.create=true or serviceAccount.name
{{- end -}}
{{- if and $settings.nvidiaSmi (eq .Values.gpuAccess.mode "hostDriver") }}
settings.nvidiaSmi is set, but gpuAccess.mode is hostDriver, which uses the program of the node: remove it
{{- end -}}
{{- if regexMatch "(?i)^(127\\.|localhost\\.?$|ip6-localhost$|[0:]*:0*1$|::ffff:127\\.)" (toString $settings.httpHost) }}
settings.httpHost is {{ $settings.httpHost }}, where neither the probes nor Prometheus reach the service: remove it
{{- end -}}
{{- range $name, $port := dict "httpPort" "port" "managementPort" "managementPort" -}}
{{- $value := int64 (index $settings $name) -}}
{{- if lt $value 1024 }}
settings.{{ $name }} is {{ $value }}, where only a process with a right that this one does not have may listen: set one from 1024 on (service.{{ $port }} may be any)
{{- end -}}
{{- end -}}
{{- if eq (int64 $settings.httpPort) (int64 $settings.managementPort) }}
settings.httpPort and settings.managementPort are both {{ int64 $settings.httpPort }}: set two ports
{{- end -}}
{{- if eq (int64 .Values.service.port) (int64 .Values.service.managementPort) }}
service.port and service.managementPort are both {{ int64 .Values.service.port }}: set two ports
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.extras" -}}
{{- $values := merge (include "genv-enforcer.variables" . | fromYaml) (include "genv-enforcer.remoteVariables" . | fromYaml) -}}
{{- $values = merge $values (dict
  "GENV_TMPDIR" "settings.stateDir"
  "GENV_ENFORCER_DATA_DIR" "data.hostPath or data.existingClaim"
  "GENV_ENFORCER_API_TOKEN_FILE" "apiToken.existingSecret"
  "GENV_ENFORCER_TLS_CERTIFICATE_FILE" "tls.secretName"
  "GENV_ENFORCER_TLS_KEY_FILE" "tls.secretName"
  "GENV_ENFORCER_TLS_CLIENT_CA_FILE" "tls.clientCa.existingSecret"
  "GENV_ENFORCER_HTTP_ALLOWED_HOSTS" "settings.httpAllowedHosts"
  "GENV_ENFORCER_MAIL_PASSWORD_FILE" "messages.mail.existingSecret"
  "GENV_ENFORCER_MAIL_ADDRESS_FILE" "messages.mail.addresses.existingConfigMap"
  "GENV_ENFORCER_WEBHOOK_URL_FILE" "messages.webhook.urlKey"
  "GENV_ENFORCER_WEBHOOK_SECRET_FILE" "messages.webhook.secretKey"
  "GENV_ENFORCER_REMOTE_HOSTS" "remote.hosts"
  "GENV_ENFORCER_REMOTE_HOSTFILE" "remote.hosts"
  "GENV_ENFORCER_REMOTE_IDENTITY_FILE" "remote.identity.existingSecret"
  "GENV_ENFORCER_REMOTE_PASSPHRASE_FILE" "remote.identity.passphraseKey"
  "GENV_ENFORCER_REMOTE_KNOWN_HOSTS" "remote.knownHosts"
  "GENV_ENFORCER_REMOTE_SSH_CONFIG" "remote.sshConfig") -}}
{{- range $each := .Values.extraEnv -}}
{{- if eq $each.name "NVIDIA_VISIBLE_DEVICES" }}
extraEnv sets {{ $each.name }}, which has a value of its own: set gpuAccess.mode instead
{{- else if eq $each.name "GENV_ENFORCER_NODE_NAME" }}
extraEnv sets {{ $each.name }}, which is the name of the node: remove it
{{- end -}}
{{- if eq $each.name "GENV_ENFORCER_REMOTE_EXIT_ON_ERROR" }}
extraEnv sets {{ $each.name }}, with which the pod would end and begin all grace periods anew whenever a machine does not answer: remove it
{{- else if hasKey $values $each.name }}
extraEnv sets {{ $each.name }}, which has a value of its own: set {{ get $values $each.name }} instead
{{- else if and (hasPrefix "GENV_ENFORCER_" $each.name) (ne $each.name "GENV_ENFORCER_NODE_NAME") }}
extraEnv sets {{ $each.name }}, but there is no such setting, and the service would not start: remove it
{{- end -}}
{{- end -}}
{{- range .Values.extraVolumes -}}
{{- if has .name (list "state" "files" "data" "gpus" "driver") }}
extraVolumes has a volume {{ .name }}, which is a name of the chart's own: call it otherwise
{{- end -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{- if has (trimSuffix "/" .mountPath) (list (include "genv-enforcer.folder" $) (include "genv-enforcer.dataFolder" $) (trimSuffix "/" $.Values.settings.stateDir)) }}
extraVolumeMounts has something at {{ .mountPath }}, where the chart mounts what the service needs: remove it
{{- end -}}
{{- end -}}
{{- range $name := list "commonLabels" "podLabels" -}}
{{- range $label := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "genv-enforcer/enforces" -}}
{{- if hasKey (index $.Values $name | default dict) $label }}
{{ $name }} sets {{ $label }}, by which the pods are found: remove it
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.messages" -}}
{{- $messages := .Values.messages -}}
{{- $mail := $messages.mail -}}
{{- $webhook := $messages.webhook -}}
{{- $terminal := has (toString $messages.terminal) (list "on" "true") -}}
{{- if and $terminal (eq .Values.mode "remote") }}
messages.terminal is on, but mode is remote, and the service writes only to terminals of its own node: remove it
{{- end -}}
{{- if and $mail.host (not $mail.from) }}
messages.mail.host is set, but there is no sender: set messages.mail.from
{{- end -}}
{{- if and $mail.host (not (or $mail.to $mail.addresses.existingConfigMap $mail.reportTo)) }}
messages.mail.host is set, but there are no addresses: set messages.mail.to or messages.mail.addresses.existingConfigMap
{{- end -}}
{{- if and (not $mail.host) (or $mail.from $mail.to $mail.reportTo $mail.existingSecret $mail.addresses.existingConfigMap) }}
messages.mail has values, but no server: set messages.mail.host
{{- end -}}
{{- if ne (empty $mail.user) (empty $mail.existingSecret) }}
messages.mail.user and messages.mail.existingSecret belong together: set both, or none
{{- end -}}
{{- if and (or $webhook.urlKey $webhook.secretKey) (not $webhook.existingSecret) }}
messages.webhook.urlKey and messages.webhook.secretKey are keys of a Secret: set messages.webhook.existingSecret
{{- end -}}
{{- if and $webhook.url $webhook.urlKey }}
messages.webhook.url and messages.webhook.urlKey are both set: set one of them
{{- end -}}
{{- if and $webhook.secretKey (not (or $webhook.url $webhook.urlKey)) }}
messages.webhook.secretKey is set, but there is no address: set messages.webhook.url or messages.webhook.urlKey
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.monitoring" -}}
{{- $monitor := .Values.serviceMonitor -}}
{{- if and $monitor.enabled (eq $monitor.kind "ServiceMonitor") (not .Values.service.enabled) }}
serviceMonitor.enabled needs a Service to find the pods: set service.enabled=true or serviceMonitor.kind=PodMonitor
{{- end -}}
{{- $tls := include "genv-enforcer.tlsSecret" . -}}
{{- if and .Values.tls.clientCa.existingSecret (not $tls) }}
tls.clientCa.existingSecret is set, but the API has no certificate: set tls.secretName or tls.certManager.issuer
{{- end -}}
{{- if and $monitor.tlsConfig (not $tls) }}
serviceMonitor.tlsConfig is set, but the API has no certificate: set tls.secretName or tls.certManager.issuer
{{- end -}}
{{- if and $monitor.enabled .Values.tls.clientCa.existingSecret (not (and $monitor.tlsConfig.cert $monitor.tlsConfig.keySecret)) }}
serviceMonitor.enabled needs a certificate of Prometheus, because tls.clientCa.existingSecret is set: set serviceMonitor.tlsConfig.cert and serviceMonitor.tlsConfig.keySecret
{{- end -}}
{{- if gt (include "genv-enforcer.millis" $monitor.scrapeTimeout | int64) (include "genv-enforcer.millis" $monitor.interval | int64) }}
serviceMonitor.scrapeTimeout is {{ $monitor.scrapeTimeout }}, longer than serviceMonitor.interval ({{ $monitor.interval }}): Prometheus would refuse that
{{- end -}}
{{- if .Values.prometheusRule.enabled -}}
{{- if not (or $monitor.enabled .Values.prometheusRule.selector) }}
prometheusRule.enabled looks for the series that the ServiceMonitor brings, but there is none: set serviceMonitor.enabled=true, or say in prometheusRule.selector which series are this installation's
{{- end -}}
{{- if and $monitor.enabled (gt (include "genv-enforcer.millis" $monitor.interval | int64) 120000) }}
serviceMonitor.interval is {{ $monitor.interval }}, too rare for the alerts to see what happens: set 2m or less
{{- end -}}
{{- end -}}
{{- if and $monitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.ingressFrom) }}
serviceMonitor.enabled wants Prometheus to ask the pods, but the NetworkPolicy keeps it out: name it in networkPolicy.ingressFrom
{{- end -}}
{{- $interval := include "genv-enforcer.millis" .Values.settings.interval | default "10000" | int64 -}}
{{- if and .Values.prometheusRule.enabled (le (include "genv-enforcer.millis" .Values.prometheusRule.staleAfter | int64) $interval) }}
prometheusRule.staleAfter is {{ .Values.prometheusRule.staleAfter }}, not longer than settings.interval ({{ .Values.settings.interval | default "10s" }}): every cycle would be an alert
{{- end -}}
{{- end -}}
