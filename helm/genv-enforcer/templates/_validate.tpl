{{- /*
Checks only what would fail silently: the schema, Kubernetes, or the service at its start refuses all other contradictions. All errors are
reported at once, one sentence each.
*/ -}}
{{- define "genv-enforcer.validate" -}}
{{- $errors := list -}}
{{- range splitList "\n" (printf "%s\n%s" (include "genv-enforcer.validate.machines" .) (include "genv-enforcer.validate.access" .)) -}}
{{- with trim . -}}
{{- $errors = append $errors . -}}
{{- end -}}
{{- end -}}
{{- with $errors -}}
{{- fail (printf "\n%s" (join "\n" .)) -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.machines" -}}
{{- $remote := .Values.remote -}}
{{- $state := .Values.settings.stateDir -}}
{{- $machines := or $remote.hosts $remote.hostfile.existingConfigMap -}}
{{- if eq .Values.mode "node" -}}
{{- if $machines }}
remote.hosts names other machines than the nodes: set mode=remote, or remove it
{{- end -}}
{{- if .Values.data.existingClaim }}
data.existingClaim is set, but each node needs a database of its own: set data.hostPath instead
{{- end -}}
{{- if and .Values.data.hostPath (hasPrefix (printf "%s/" (trimSuffix "/" $state)) (printf "%s/" .Values.data.hostPath)) }}
data.hostPath is {{ .Values.data.hostPath }}, which is in settings.stateDir, where every user can write: set a folder outside of it
{{- end -}}
{{- else -}}
{{- if not $machines }}
mode is remote, but no machines are named: set remote.hosts or remote.hostfile.existingConfigMap
{{- end -}}
{{- if not (has .Values.data.hostPath (list nil "" "/var/lib/genv-enforcer")) }}
data.hostPath is {{ .Values.data.hostPath }}, but with mode=remote the pod may start on any node: set data.existingClaim instead
{{- end -}}
{{- if ne $state "/var/tmp/genv" }}
settings.stateDir is {{ $state }}, which is a directory of nodes: with mode=remote set remote.stateDir instead
{{- end -}}
{{- range $name := list "knownHosts" "sshConfig" -}}
{{- $from := index $remote $name -}}
{{- if gt (len (compact (list $from.content $from.existingConfigMap $from.existingSecret))) 1 }}
remote.{{ $name }} has more than one source: set only one of content, existingConfigMap and existingSecret
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.validate.access" -}}
{{- $node := eq .Values.mode "node" -}}
{{- $monitor := .Values.serviceMonitor -}}
{{- if and .Values.openshift.enabled $node (eq (include "genv-enforcer.serviceAccountName" .) "default") }}
openshift.enabled would allow its privileges to every pod with the service account default: set serviceAccount.create=true or serviceAccount.name
{{- end -}}
{{- if and .Values.ingress.enabled $node }}
ingress.enabled is for mode=remote: with mode=node each pod shows its own node, and an Ingress would show any of them
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.service.enabled) }}
ingress.enabled needs a Service: set service.enabled=true
{{- end -}}
{{- if and $monitor.enabled (eq $monitor.kind "ServiceMonitor") (not .Values.service.enabled) }}
serviceMonitor.enabled needs a Service to find the pods: set service.enabled=true or serviceMonitor.kind=PodMonitor
{{- end -}}
{{- if .Values.prometheusRule.enabled -}}
{{- if not (or $monitor.enabled .Values.prometheusRule.selector) }}
prometheusRule.enabled needs the series of the ServiceMonitor: set serviceMonitor.enabled=true, or prometheusRule.selector
{{- end -}}
{{- if and $monitor.enabled (gt (include "genv-enforcer.millis" $monitor.interval | int64) 120000) }}
serviceMonitor.interval is {{ $monitor.interval }}, too long for the alerts: set 2m or less
{{- end -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (or $monitor.enabled .Values.ingress.enabled) (not .Values.networkPolicy.ingressFrom) }}
networkPolicy.enabled keeps out Prometheus and the controller of the Ingress: name them in networkPolicy.ingressFrom
{{- end -}}
{{- if and .Values.settings.maxDevicesPerUserMode (not (or .Values.settings.maxDevicesPerUser .Values.settings.maxDevicesForUser .Values.settings.maxDevicesForGroup)) }}
settings.maxDevicesPerUserMode is {{ .Values.settings.maxDevicesPerUserMode }}, but there is no limit: set settings.maxDevicesPerUser, settings.maxDevicesForUser or settings.maxDevicesForGroup
{{- end -}}
{{- end -}}
