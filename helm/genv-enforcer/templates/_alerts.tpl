{{- /* Which series are this installation's: two of them on one Prometheus must not tell of each other. */ -}}
{{- define "genv-enforcer.selector" -}}
{{- .Values.prometheusRule.selector | default (printf "namespace=%q,job=%q" .Release.Namespace (include "genv-enforcer.fullname" .)) -}}
{{- end -}}

{{- /* So many seconds, or more where cycles or scrapes are so rare that fewer would not show several of them. */ -}}
{{- define "genv-enforcer.window" -}}
{{- $interval := include "genv-enforcer.millis" .root.Values.settings.interval | default "10000" | int64 -}}
{{- $monitor := .root.Values.serviceMonitor -}}
{{- $scrape := ternary (include "genv-enforcer.millis" $monitor.interval | int64) 0 $monitor.enabled -}}
{{- max .least (div (mul $interval 3) 1000) (div (mul $scrape 4) 1000) -}}s
{{- end -}}

{{- /*
How long cycles must fail. The first cycle of a pod is in its series from the beginning and so has increased nothing: only
after two intervals something must have, and one cycle that fails is not all that can be seen.
*/ -}}
{{- define "genv-enforcer.failingFor" -}}
{{- $two := include "genv-enforcer.millis" .Values.settings.interval | default "10000" | int64 | mul 2 -}}
{{- $for := .Values.prometheusRule.failingFor -}}
{{- ternary $for (printf "%ds" (div $two 1000)) (ge (include "genv-enforcer.millis" $for | int64) $two) -}}
{{- end -}}

{{- /*
More than half of the cycles went like this: a single one that did is not worth waking somebody up. Failed actions are counted
among cycles that saw everything, for the others do not tell of them.
*/ -}}
{{- define "genv-enforcer.most" -}}
{{- $window := include "genv-enforcer.window" (dict "root" .root "least" 300) -}}
{{- $these := printf `increase(genv_enforcer_cycles_total{%s,result="%s"}[%s])` .is .result $window -}}
{{- $all := printf `increase(genv_enforcer_cycles_total{%s,result=~"%s"}[%s])` .is .among $window -}}
{{- printf `%s > ignoring (result) 0.5 * sum without (result) (%s)` $these $all | toJson -}}
{{- end -}}

{{- /*
The alerts. A counter of what seldom happens is not there before it happens, and increase() of a series that begins with 1
is 0: so a series that was not there a while ago counts as well. Problems of hosts are there only while they last.
*/ -}}
{{- define "genv-enforcer.alerts" -}}
{{- $is := include "genv-enforcer.selector" . -}}
{{- $window := include "genv-enforcer.window" (dict "root" . "least" 600) -}}
{{- $failing := include "genv-enforcer.failingFor" . -}}
{{- $rule := .Values.prometheusRule -}}
{{- $node := eq .Values.mode "node" -}}
{{- /* The ServiceMonitor brings the node, others may not. */ -}}
{{- $where := "{{ or $labels.node $labels.instance }}" -}}
- alert: GenvEnforcerDown
  expr: {{ printf `up{%s} == 0` $is | toJson }}
  for: {{ $rule.downFor }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer does not answer on {{ $where }}
    description: >-
      Prometheus cannot read its metrics, so perhaps nothing is enforced there. Look at the pod and at its log; where it
      runs, see whether the API token of the ServiceMonitor is the right one.
- alert: GenvEnforcerAbsent
  expr: {{ printf `absent(up{%s})` $is | toJson }}
  for: {{ $rule.absentFor }}
  labels:
    severity: critical
  annotations:
    summary: there is no genv-enforcer
    description: >-
      Prometheus knows of no pod of it. {{ if $node }}See whether the DaemonSet finds nodes with a GPU (labels, taints, runtime class, priority
      class){{ else }}See whether the Deployment has its pod{{ end }}, and whether the ServiceMonitor finds the Service.
- alert: GenvEnforcerCycleStalled
  expr: {{ printf `increase(genv_enforcer_cycle_duration_seconds_count{%s}[%s]) == 0` $is $window | toJson }}
  for: {{ $failing }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer on {{ $where }} has ended no cycle
    description: >-
      Nothing is enforced. The liveness probe should have restarted it: look at /q/health/live and at the log.
- alert: GenvEnforcerCycleFailing
  expr: {{ include "genv-enforcer.most" (dict "root" . "is" $is "result" "failed" "among" "success|incomplete|action_failed|failed") }}
  for: {{ $failing }}
  labels:
    severity: critical
  annotations:
    summary: cycles of genv-enforcer on {{ $where }} break off
    description: >-
      A cycle that breaks off enforces nothing. The log and /q/health/ready say why.
- alert: GenvEnforcerActionFailing
  expr: {{ include "genv-enforcer.most" (dict "root" . "is" $is "result" "action_failed" "among" "success|action_failed") }}
  for: {{ $failing }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer on {{ $where }} cannot do what the rules want
    description: >-
      A process could not be signalled or an environment not be detached. See the actions at /violations?status=active: their
      outcome is denied, failed or unkillable, and the detail says why.
{{- if $node }}
- alert: GenvEnforcerCycleStale
  expr: {{ printf `time() - genv_enforcer_last_success_timestamp_seconds{%s} > %s` $is (div (include "genv-enforcer.millis" $rule.staleAfter) 1000 | toString) | toJson }}
  for: {{ $rule.failingFor }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer on {{ $where }} has not seen all of its node for a long time
    description: >-
      Rules that need what it cannot see do not act. /hosts names the problems of the node, and the README what each of them means.
{{- else }}
- alert: GenvEnforcerHostIncomplete
  expr: {{ printf `genv_enforcer_host_complete{%s} == 0 and genv_enforcer_host_up{%s} == 1` $is $is | toJson }}
  for: {{ $rule.staleAfter }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer cannot see all of {{ "{{ $labels.host }}" }}
    description: >-
      Rules that need what it cannot see do not act there. /hosts names the problems of the machine, and the README what each of them means.
- alert: GenvEnforcerHostKeyRefused
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"host_key_changed|host_key_unknown"} > 0` $is | toJson }}
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
  expr: {{ printf `genv_enforcer_host_up{%s} == 0` $is | toJson }}
  for: {{ $rule.hostUnreachableFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer gets no answer from {{ "{{ $labels.host }}" }}
    description: >-
      Nothing is enforced there, and the others are not affected. /hosts says why: whether it is down, refuses the key or the command, or
      is too slow.
- alert: GenvEnforcerRightMissing
{{- /* The rights are counted over all machines; which of them it is only the problems tell. */}}
  {{- if $node }}
  expr: {{ printf `genv_enforcer_missing_right{%s} > 0` $is | toJson }}
  {{- else }}
  expr: {{ printf `genv_enforcer_host_problems{%s,code="missing_right"} > 0` $is | toJson }}
  {{- end }}
  for: {{ $rule.problemFor }}
  labels:
    severity: critical
  annotations:
    {{- if $node }}
    summary: genv-enforcer on {{ $where }} lacks {{ "{{ $labels.right }}" }}
    {{- else }}
    summary: genv-enforcer lacks a right on {{ "{{ $labels.host }}" }}
    {{- end }}
    description: >-
      What needs this right is not enforced. /hosts says {{ if $node }}how to grant it; see whether something has changed the security
      context, the host's PID namespace, the state directory or AppArmor of the pod{{ else }}which one it is and how to grant it; see sudo on that machine{{ end }}.
- alert: GenvEnforcerStateUnreadable
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"state_unreadable|state_incomplete|state_directory_moved|state_user_mount|state_timeout"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv's state on {{ "{{ $labels.host }}" }} cannot be read ({{ "{{ $labels.code }}" }})
    description: >-
      Rules that need it do not act. Look at envs.json and devices.json in genv's state directory there: any local user can
      spoil them. If they cannot be mended, move them away when no environment is active.
- alert: GenvEnforcerGpuToolFailing
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"gpu_tool_failed|gpu_lost|gpu_needs_new_container"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: critical
  annotations:
    summary: the GPUs of {{ "{{ $labels.host }}" }} cannot be seen ({{ "{{ $labels.code }}" }})
    description: >-
      Nothing is enforced there. Run nvidia-smi on the machine: a driver that does not match, a lost GPU or a hanging
      tool often want a restart of the machine{{ if $node }}; where it works there, see the runtime class of the pod{{ end }}.
- alert: GenvEnforcerLockHeld
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"lock_timeout|lock_unusable"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: somebody keeps genv's lock on {{ "{{ $labels.host }}" }} ({{ "{{ $labels.code }}" }})
    description: >-
      Nothing is detached meanwhile. /hosts names the process, command and user that hold genv.lock.
- alert: GenvEnforcerSecondEnforcer
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"second_enforcer|enforcer_lock_unusable"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: another enforcer acts on {{ "{{ $labels.host }}" }}, or may do so ({{ "{{ $labels.code }}" }})
    description: >-
      second_enforcer: this one only watches there. End one of them, such as a service that was started before there was this chart, or a
      second release of it. enforcer_lock_unusable: this one acts, but cannot find out whether it is the only one. /hosts says what stands in
      the place of its lock: remove that.
- alert: GenvEnforcerBrakeReached
  expr: {{ printf `genv_enforcer_host_problems{%s,code="brake_reached"} > 0` $is | toJson }}
  for: {{ $rule.brakeFor }}
  labels:
    severity: warning
  annotations:
    summary: more processes are to be ended on {{ "{{ $labels.host }}" }} than a cycle may end
    description: >-
      Either many break the rules, or something is wrong with genv's state. Look at /violations?status=active before anything else;
      set settings.mode=audit while you look, and raise settings.maxTerminationsPerCycle only if they are right.
- alert: GenvEnforcerProcessUnkillable
  expr: {{ printf `increase(%[1]s[%[2]s]) > 0 or (%[1]s > 0 unless %[1]s offset %[2]s)` (printf `genv_enforcer_terminations_total{%s,outcome="unkillable"}` $is) $window | toJson }}
  labels:
    severity: warning
  annotations:
    summary: a process on {{ $where }} survives SIGKILL
    description: >-
      The kernel holds on to it, mostly in the driver, and it keeps its devices. /violations?status=active names it (outcome unkillable); as
      a rule only a reset of the GPU or a restart of the machine helps.
- alert: GenvEnforcerLogLinesDropped
  expr: {{ printf `increase(genv_enforcer_log_lines_dropped_total{%s}[%s]) > 0` $is $window | toJson }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer on {{ $where }} drops lines of its log
    description: >-
      No process reads its output fast enough, so the log lacks actions and problems. See whether the container runtime reads the log of
      the pod, and whether its disk is full.
{{- end -}}
