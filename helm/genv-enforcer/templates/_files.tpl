{{- /* The folder of the files in the container. */ -}}
{{- define "genv-enforcer.folder" -}}
/etc/genv-enforcer
{{- end -}}

{{- define "genv-enforcer.configMapName" -}}
{{- printf "%s-%s" (include "genv-enforcer.fullname" . | trunc 56 | trimSuffix "-") (ternary "remote" "policy" (eq .Values.mode "remote")) -}}
{{- end -}}

{{- /* The Secret with the certificate of the API; empty without TLS. */ -}}
{{- define "genv-enforcer.tlsSecret" -}}
{{- if or .Values.tls.secretName .Values.tls.certManager.issuer -}}
{{- .Values.tls.secretName | default (printf "%s-tls" (include "genv-enforcer.fullname" . | trunc 59 | trimSuffix "-")) -}}
{{- end -}}
{{- end -}}

{{- /* The content of the chart's own ConfigMap: a map of keys to texts. */ -}}
{{- define "genv-enforcer.content" -}}
{{- $content := dict -}}
{{- with .Values.policy -}}
{{- $_ := set $content "policy.yaml" (toYaml . | printf "%s\n") -}}
{{- end -}}
{{- if eq .Values.mode "remote" -}}
{{- $remote := .Values.remote -}}
{{- if and $remote.hosts (not $remote.hostfile.existingConfigMap) -}}
{{- $_ := set $content "hosts" (printf "%s\n" (join "\n" $remote.hosts)) -}}
{{- end -}}
{{- with $remote.knownHosts.content -}}
{{- $_ := set $content "known_hosts" (printf "%s\n" (trimSuffix "\n" .)) -}}
{{- end -}}
{{- with $remote.sshConfig.content -}}
{{- $_ := set $content "ssh_config" (printf "%s\n" (trimSuffix "\n" .)) -}}
{{- end -}}
{{- end -}}
{{- toYaml $content -}}
{{- end -}}

{{- /* The files of the container, each with its source and the variable that names it. */ -}}
{{- define "genv-enforcer.files" -}}
{{- $own := include "genv-enforcer.configMapName" . -}}
{{- $files := list -}}
{{- if .Values.policy -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_POLICY_FILE" "file" "policy.yaml" "configMap" $own "key" "policy.yaml") -}}
{{- end -}}
{{- with .Values.apiToken.existingSecret -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_API_TOKEN_FILE" "file" "api-token" "secret" . "key" $.Values.apiToken.key) -}}
{{- end -}}
{{- with include "genv-enforcer.tlsSecret" . -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_TLS_CERTIFICATE_FILE" "file" "tls.crt" "secret" . "key" "tls.crt") -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_TLS_KEY_FILE" "file" "tls.key" "secret" . "key" "tls.key") -}}
{{- end -}}
{{- with .Values.tls.clientCa.existingSecret -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_TLS_CLIENT_CA_FILE" "file" "client-ca.crt" "secret" . "key" $.Values.tls.clientCa.key) -}}
{{- end -}}
{{- $mail := .Values.messages.mail -}}
{{- with $mail.existingSecret -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_MAIL_PASSWORD_FILE" "file" "mail-password" "secret" . "key" $mail.key) -}}
{{- end -}}
{{- with $mail.addresses.existingConfigMap -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_MAIL_ADDRESS_FILE" "file" "mail-addresses" "configMap" . "key" $mail.addresses.key) -}}
{{- end -}}
{{- $webhook := .Values.messages.webhook -}}
{{- with $webhook.urlKey -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_WEBHOOK_URL_FILE" "file" "webhook-url" "secret" $webhook.existingSecret "key" .) -}}
{{- end -}}
{{- with $webhook.secretKey -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_WEBHOOK_SECRET_FILE" "file" "webhook-secret" "secret" $webhook.existingSecret "key" .) -}}
{{- end -}}
{{- if eq .Values.mode "remote" -}}
{{- $remote := .Values.remote -}}
{{- if $remote.hostfile.existingConfigMap -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_REMOTE_HOSTFILE" "file" "hosts" "configMap" $remote.hostfile.existingConfigMap "key" $remote.hostfile.key) -}}
{{- else -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_REMOTE_HOSTFILE" "file" "hosts" "configMap" $own "key" "hosts") -}}
{{- end -}}
{{- with $remote.identity.existingSecret -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_REMOTE_IDENTITY_FILE" "file" "identity" "secret" . "key" $remote.identity.key) -}}
{{- end -}}
{{- with $remote.identity.passphraseKey -}}
{{- $files = append $files (dict "variable" "GENV_ENFORCER_REMOTE_PASSPHRASE_FILE" "file" "passphrase" "secret" $remote.identity.existingSecret "key" .) -}}
{{- end -}}
{{- range list (list "GENV_ENFORCER_REMOTE_KNOWN_HOSTS" "known_hosts" $remote.knownHosts) (list "GENV_ENFORCER_REMOTE_SSH_CONFIG" "ssh_config" $remote.sshConfig) -}}
{{- $from := index . 2 -}}
{{- $file := dict "variable" (index . 0) "file" (index . 1) -}}
{{- if $from.existingSecret -}}
{{- $files = append $files (merge $file (dict "secret" $from.existingSecret "key" $from.key)) -}}
{{- else if $from.existingConfigMap -}}
{{- $files = append $files (merge $file (dict "configMap" $from.existingConfigMap "key" $from.key)) -}}
{{- else if $from.content -}}
{{- $files = append $files (merge $file (dict "configMap" $own "key" (index . 1))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}
