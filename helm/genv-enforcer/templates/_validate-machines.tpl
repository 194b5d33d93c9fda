{{- /* Checks the values about the nodes and about the machines over SSH. */ -}}
{{- define "genv-enforcer.validate.node" -}}
{{- if eq .Values.mode "node" -}}
{{- range list "hosts" "hostfile.existingConfigMap" "username" "identity.existingSecret" "identity.passphraseKey" "knownHosts.content" "knownHosts.existingConfigMap" "knownHosts.existingSecret" "sshConfig.content" "sshConfig.existingConfigMap" "sshConfig.existingSecret" "timeout" "sudo" "agent" "stateDir" "quiet" -}}
{{- if include "genv-enforcer.textAt" (dict "root" $ "path" (printf "remote.%s" .)) }}
remote.{{ . }} is set, which means other machines than the nodes: set mode=remote, or remove it
{{- end -}}
{{- end -}}
{{- if .Values.data.existingClaim }}
data.existingClaim is set, but each node needs a database of its own: set data.hostPath instead
{{- end -}}
{{- if and .Values.data.hostPath (hasPrefix (printf "%s/" (trimSuffix "/" .Values.settings.stateDir)) (printf "%s/" .Values.data.hostPath)) }}
data.hostPath is {{ .Values.data.hostPath }}, which is in settings.stateDir, where every user can write: set a folder outside of it
{{- end -}}
{{- if regexMatch "^/((proc|sys|dev|usr|bin|sbin|lib|lib64|etc/genv-enforcer|var/lib/genv-enforcer|opt/genv-enforcer)(/|$)|(etc|opt)$)" .Values.settings.stateDir }}
settings.stateDir is {{ .Values.settings.stateDir }}, and mounted there it would hide what the container needs: set genv's directory, such as /var/tmp/genv
{{- end -}}
{{- else if .Values.data.hostPath }}
data.hostPath is set, but with mode=remote the pod may start on any node: set data.existingClaim instead
{{- else if ne .Values.settings.stateDir "/var/tmp/genv" }}
settings.stateDir is {{ .Values.settings.stateDir }}, which is a directory of nodes: with mode=remote set remote.stateDir instead
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.data" -}}
{{- $bytes := include "genv-enforcer.dataBytes" . | int64 -}}
{{- if or (lt $bytes 4194304) (gt $bytes 1099511627776) }}
data.maxSize is {{ .Values.data.maxSize }}: set a size from 4MiB to 1024GiB
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
remote.identity.passphraseKey opens a key that is not there: set remote.identity.existingSecret too, or remove it
{{- end -}}
{{- /* The chart cannot read a host file of the administrator, which may name users. */ -}}
{{- $named := true -}}
{{- range $remote.hosts -}}
{{- $named = and $named (contains "@" .) -}}
{{- end -}}
{{- if not (or $remote.username $configured $named) }}
mode is remote, but there is no user to log in as: set remote.username, or name the user with every machine (raz@gpu-1) or in remote.sshConfig
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.network" -}}
{{- /* An SSH configuration may set other ports, or a jump host. */ -}}
{{- $ssh := .Values.remote.sshConfig -}}
{{- if and .Values.networkPolicy.enabled (eq .Values.mode "remote") (not (or $ssh.content $ssh.existingConfigMap $ssh.existingSecret)) -}}
{{- $ports := list -}}
{{- range .Values.networkPolicy.sshPorts -}}
{{- $ports = append $ports (int64 . | toString) -}}
{{- end -}}
{{- range .Values.remote.hosts -}}
{{- $address := splitList "@" . | last -}}
{{- $port := ternary (regexFind "\\]:[0-9]+$" $address | trimPrefix "]:") (regexFind ":[0-9]+$" $address | trimPrefix ":") (hasPrefix "[" $address) | default "22" -}}
{{- $port = regexReplaceAll "^0+" $port "" -}}
{{- if not (has $port $ports) }}
remote.hosts names {{ . }}, but the NetworkPolicy allows no connection to port {{ $port }}: add it to networkPolicy.sshPorts
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
