{{- /* Which series are this installation's: two of them on one Prometheus must not tell of each other. */ -}}
{{- define "genv-enforcer.selector" -}}
{{- .Values.prometheusRule.selector | default (printf "namespace=%q,job=%q" .Release.Namespace (include "genv-enforcer.fullname" .)) -}}
{{- end -}}

{{- /* Long enough to see cycles in it, however rare they are. */ -}}
{{- define "genv-enforcer.window" -}}
{{- $interval := include "genv-enforcer.millis" .Values.settings.interval | default "10000" | int64 -}}
{{- max 600 (div (mul $interval 3) 1000) -}}s
{{- end -}}

{{- /*
The alerts. A counter of what seldom happens is not there before it happens, and increase() of a series that begins with 1
is 0: so a series that was not there a while ago counts as well. Problems of hosts are there only while they last.
*/ -}}
{{- define "genv-enforcer.alerts" -}}
{{- $is := include "genv-enforcer.selector" . -}}
{{- $window := include "genv-enforcer.window" . -}}
{{- $rule := .Values.prometheusRule -}}
{{- $node := eq .Values.mode "node" -}}
{{- /* The ServiceMonitor brings the node, others may not. */ -}}
{{- $where := "{{ or $labels.node $labels.instance }}" -}}
- alert: GenvEnforcerDown
  expr: up{ {{- $is -}} } == 0
  for: {{ $rule.downFor }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer does not answer on {{ $where }}
    description: >-
      Prometheus cannot read its metrics, so perhaps nothing is enforced there. Look at the pod and at its log; where it
      runs, see whether the API token of the ServiceMonitor is the right one.
- alert: GenvEnforcerAbsent
  expr: absent(up{ {{- $is -}} })
  for: {{ $rule.absentFor }}
  labels:
    severity: critical
  annotations:
    summary: there is no genv-enforcer
    description: >-
      Prometheus knows of no pod of it. {{ if $node }}See whether the DaemonSet finds nodes with a GPU (labels, taints, runtime class, priority
      class){{ else }}See whether the Deployment has its pod{{ end }}, and whether the ServiceMonitor finds the Service.
- alert: GenvEnforcerCycleStalled
  expr: increase(genv_enforcer_cycle_duration_seconds_count{ {{- $is -}} }[{{ $window }}]) == 0
  for: {{ $rule.failingFor }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer on {{ $where }} has ended no cycle
    description: >-
      Nothing is enforced. The liveness probe should have restarted it: look at /q/health/live and at the log.
- alert: GenvEnforcerCycleFailing
  expr: increase(genv_enforcer_cycles_total{ {{- $is }},result="failed"}[{{ $window }}]) > 0
  for: {{ $rule.failingFor }}
  labels:
    severity: critical
  annotations:
    summary: cycles of genv-enforcer on {{ $where }} break off
    description: >-
      A cycle that breaks off enforces nothing. The log and /q/health/ready say why.
- alert: GenvEnforcerActionFailing
  expr: increase(genv_enforcer_cycles_total{ {{- $is }},result="action_failed"}[{{ $window }}]) > 0
  for: {{ $rule.failingFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer on {{ $where }} cannot do what the rules want
    description: >-
      A process could not be signalled or an environment not be detached. See the actions at /violations?status=active: their
      outcome is denied, failed or unkillable, and the detail says why.
{{- if $node }}
- alert: GenvEnforcerCycleStale
  expr: time() - genv_enforcer_last_success_timestamp_seconds{ {{- $is -}} } > {{ div (include "genv-enforcer.millis" $rule.staleAfter) 1000 }}
  for: {{ $rule.failingFor }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer on {{ $where }} has not seen all of its node for a long time
    description: >-
      Rules that need what it cannot see do not act. /hosts names the problems of the node, and the README what each of them means.
{{- else }}
- alert: GenvEnforcerHostIncomplete
  expr: genv_enforcer_host_complete{ {{- $is -}} } == 0 and genv_enforcer_host_up{ {{- $is -}} } == 1
  for: {{ $rule.staleAfter }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer cannot see all of {{ "{{ $labels.host }}" }}
    description: >-
      Rules that need what it cannot see do not act there. /hosts names the problems of the machine, and the README what each of them means.
- alert: GenvEnforcerHostKeyRefused
  expr: genv_enforcer_host_problems{ {{- $is }},code=~"host_key_changed|host_key_unknown"} > 0
  for: {{ $rule.problemFor }}
  labels:
    severity: critical
  annotations:
    summary: the machine {{ "{{ $labels.host }}" }} shows a key that nobody knows
    description: >-
      Nothing is enforced there. Either the machine was installed anew, or another one answers in its place: find out which, and
      only then put the new key into remote.knownHosts.
{{- end }}
- alert: GenvEnforcerHostUnreachable
  expr: genv_enforcer_host_up{ {{- $is -}} } == 0
  for: {{ $rule.hostUnreachableFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer gets no answer from {{ "{{ $labels.host }}" }}
    description: >-
      Nothing is enforced there, and the others are not affected. /hosts says why: whether it is down, refuses the key or the command, or
      is too slow.
- alert: GenvEnforcerRightMissing
  expr: genv_enforcer_missing_right{ {{- $is -}} } > 0
  for: {{ $rule.problemFor }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer on {{ $where }} lacks {{ "{{ $labels.right }}" }}
    description: >-
      What needs this right is not enforced. /hosts says how to grant it; in a cluster see whether something has changed the security
      context, the host's PID namespace, the state directory or AppArmor of the pod{{ if not $node }}, on the machines see sudo{{ end }}.
- alert: GenvEnforcerStateUnreadable
  expr: genv_enforcer_host_problems{ {{- $is }},code=~"state_unreadable|state_incomplete|state_directory_moved"} > 0
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv's state on {{ "{{ $labels.host }}" }} cannot be read ({{ "{{ $labels.code }}" }})
    description: >-
      Rules that need it do not act. Look at envs.json and devices.json in genv's state directory there: any local user can
      spoil them. If they cannot be mended, move them away when no environment is active.
- alert: GenvEnforcerGpuToolFailing
  expr: genv_enforcer_host_problems{ {{- $is }},code=~"gpu_tool_failed|gpu_lost|gpu_needs_new_container"} > 0
  for: {{ $rule.problemFor }}
  labels:
    severity: critical
  annotations:
    summary: the GPUs of {{ "{{ $labels.host }}" }} cannot be seen ({{ "{{ $labels.code }}" }})
    description: >-
      Nothing is enforced there. Run nvidia-smi on the machine: a driver that does not match, a lost GPU or a hanging
      tool often want a restart of the machine{{ if $node }}; where it works there, see the runtime class of the pod{{ end }}.
- alert: GenvEnforcerLockHeld
  expr: genv_enforcer_host_problems{ {{- $is }},code=~"lock_timeout|lock_unusable"} > 0
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: somebody keeps genv's lock on {{ "{{ $labels.host }}" }} ({{ "{{ $labels.code }}" }})
    description: >-
      Nothing is detached meanwhile. /hosts names the process, command and user that hold genv.lock.
- alert: GenvEnforcerSecondEnforcer
  expr: genv_enforcer_host_problems{ {{- $is }},code="second_enforcer"} > 0
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: another enforcer acts on {{ "{{ $labels.host }}" }}
    description: >-
      This one only watches there. End one of them, such as a service that was started before there was this chart, or a second
      release of it.
- alert: GenvEnforcerBrakeReached
  expr: genv_enforcer_host_problems{ {{- $is }},code="brake_reached"} > 0
  for: {{ $rule.brakeFor }}
  labels:
    severity: warning
  annotations:
    summary: more processes are to be ended on {{ "{{ $labels.host }}" }} than a cycle may end
    description: >-
      Either many break the rules, or something is wrong with genv's state. Look at /violations?status=active before anything else;
      set settings.mode=audit while you look, and raise settings.maxTerminationsPerCycle only if they are right.
- alert: GenvEnforcerProcessUnkillable
  expr: >-
    increase(genv_enforcer_terminations_total{ {{- $is }},outcome="unkillable"}[{{ $window }}]) > 0
    or (genv_enforcer_terminations_total{ {{- $is }},outcome="unkillable"} > 0
    unless genv_enforcer_terminations_total{ {{- $is }},outcome="unkillable"} offset {{ $window }})
  labels:
    severity: warning
  annotations:
    summary: a process on {{ $where }} survives SIGKILL
    description: >-
      The kernel holds on to it, mostly in the driver, and it keeps its devices. /violations?status=active names it (outcome unkillable); as
      a rule only a reset of the GPU or a restart of the machine helps.
{{- end -}}
