{{- /* Selects the series of this installation: two installations on one Prometheus must not mix their alerts. */ -}}
{{- define "genv-enforcer.selector" -}}
{{- .Values.prometheusRule.selector | default (printf "namespace=%q,job=%q" (include "genv-enforcer.namespace" .) (include "genv-enforcer.fullname" .)) -}}
{{- end -}}

{{- /* At least this number of seconds, and at least several cycles and scrapes. */ -}}
{{- define "genv-enforcer.window" -}}
{{- $interval := include "genv-enforcer.millis" .root.Values.settings.interval | default "10000" | int64 -}}
{{- $monitor := .root.Values.serviceMonitor -}}
{{- $scrape := ternary (include "genv-enforcer.millis" $monitor.interval | int64) 0 $monitor.enabled -}}
{{- max .least (div (mul $interval 3) 1000) (div (mul $scrape 4) 1000) -}}s
{{- end -}}

{{- /*
How long cycles must fail. The series of a pod begins with its first cycle, which is no increase. So only two intervals later
at least one increase is certain, and one failed cycle alone is no alert.
*/ -}}
{{- define "genv-enforcer.failingFor" -}}
{{- $two := include "genv-enforcer.millis" .Values.settings.interval | default "10000" | int64 | mul 2 -}}
{{- $for := .Values.prometheusRule.failingFor -}}
{{- ternary $for (printf "%ds" (div $two 1000)) (ge (include "genv-enforcer.millis" $for | int64) $two) -}}
{{- end -}}

{{- /*
More than half of the cycles have this result. A single one is no alert. Failed actions are counted among complete cycles, because
the others do not report them.
*/ -}}
{{- define "genv-enforcer.most" -}}
{{- $window := include "genv-enforcer.window" (dict "root" .root "least" 300) -}}
{{- $these := printf `increase(genv_enforcer_cycles_total{%s,result="%s"}[%s])` .is .result $window -}}
{{- $all := printf `increase(genv_enforcer_cycles_total{%s,result=~"%s"}[%s])` .is .among $window -}}
{{- printf `%s > ignoring (result) 0.5 * sum without (result) (%s)` $these $all | toJson -}}
{{- end -}}

{{- /*
The alerts of the chart, or with .bare those of docker/monitoring for a Prometheus without Kubernetes, which fit both modes.
A counter of a rare event begins with 1 when the event happens, and increase() of that series is 0. So a series that did not
exist a while ago counts as well. The series of a problem exists only while the problem lasts.
*/ -}}
{{- define "genv-enforcer.alerts" -}}
{{- $is := include "genv-enforcer.selector" . -}}
{{- $window := include "genv-enforcer.window" (dict "root" . "least" 600) -}}
{{- $failing := include "genv-enforcer.failingFor" . -}}
{{- $rule := .Values.prometheusRule -}}
{{- $bare := hasKey . "bare" -}}
{{- $node := and (not $bare) (eq .Values.mode "node") -}}
{{- /* What is alike for all pods of an installation: their names and addresses change with each update. */ -}}
{{- $same := ternary "job, instance" "namespace, job" $bare -}}
{{- /* The ServiceMonitor adds the label node; other scrape configurations may not. */ -}}
{{- $where := "{{ or $labels.node $labels.instance }}" -}}
- alert: GenvEnforcerDown
  expr: {{ printf `up{%s} == 0` $is | toJson }}
  for: {{ $rule.downFor }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer does not answer on {{ $where }}
    description: >-
      Prometheus cannot read its metrics, so perhaps nothing is enforced there.
      {{- if $bare }} Check the service and its log. If the service runs, check whether Prometheus can connect to the address, and
      the API token of the scrape configuration.
      {{- else }} Check the pod and its log. If the pod runs, check the API token of the ServiceMonitor.
      {{- end }}
- alert: GenvEnforcerAbsent
  expr: {{ printf `absent(up{%s})` $is | toJson }}
  for: {{ $rule.absentFor }}
  labels:
    severity: critical
  annotations:
    summary: no genv-enforcer runs
    description: >-
      {{- if $bare }}
      Prometheus has no target of this job. Check its scrape configuration.
      {{- else }}
      Prometheus finds no pod. {{ if $node }}Check whether the DaemonSet finds nodes with a GPU (labels, taints, runtime class, priority
      class){{ else }}Check whether the Deployment has its pod{{ end }}, and whether the ServiceMonitor finds the Service.
      {{- end }}
- alert: GenvEnforcerCycleStalled
  expr: {{ printf `increase(genv_enforcer_cycle_duration_seconds_count{%s}[%s]) == 0` $is $window | toJson }}
  for: {{ $failing }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer on {{ $where }} completes no cycle
    description: >-
      Nothing is enforced. {{ ternary "systemd restarts the service of the packages" "The liveness probe restarts the pod" $bare }} in
      this case: check /q/health/live and the log.
- alert: GenvEnforcerCycleFailing
  expr: {{ include "genv-enforcer.most" (dict "root" . "is" $is "result" "failed" "among" "success|incomplete|action_failed|failed") }}
  for: {{ $failing }}
  labels:
    severity: critical
  annotations:
    summary: cycles of genv-enforcer on {{ $where }} fail
    description: >-
      A cycle that fails enforces nothing. The log and /q/health/ready give the reason.
- alert: GenvEnforcerActionFailing
  expr: {{ include "genv-enforcer.most" (dict "root" . "is" $is "result" "action_failed" "among" "success|action_failed") }}
  for: {{ $failing }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer on {{ $where }} cannot execute actions
    description: >-
      The service could not signal a process or detach an environment. /violations?status=active shows the actions: their
      outcome is denied, failed or unkillable, and the detail gives the reason.
{{- if $node }}
- alert: GenvEnforcerCycleStale
  expr: {{ printf `time() - genv_enforcer_last_success_timestamp_seconds{%s} > %s` $is (div (include "genv-enforcer.millis" $rule.staleAfter) 1000 | toString) | toJson }}
  for: {{ $rule.failingFor }}
  labels:
    severity: critical
  annotations:
    summary: genv-enforcer on {{ $where }} has not observed all of its node for a long time
    description: >-
      Rules that need the missing data take no action. /hosts names the problems of the node. The page Problems of the documents
      explains each of them.
{{- else }}
- alert: GenvEnforcerHostIncomplete
  expr: {{ printf `genv_enforcer_host_complete{%s} == 0 and genv_enforcer_host_up{%s} == 1` $is $is | toJson }}
  for: {{ $rule.staleAfter }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer cannot observe all of {{ "{{ $labels.host }}" }}
    description: >-
      Rules that need the missing data take no action there. /hosts names the problems of the machine. The page Problems of the
      documents explains each of them.
- alert: GenvEnforcerHostKeyRefused
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"host_key_changed|host_key_unknown"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: critical
  annotations:
    summary: the machine {{ "{{ $labels.host }}" }} shows an unknown key
    description: >-
      Nothing is enforced there. Either the machine was installed again, or another machine answers in its place. Find out which,
      and only then add the new key to {{ ternary "the file of known hosts" "remote.knownHosts" $bare }}.
{{- end }}
- alert: GenvEnforcerHostUnreachable
  expr: {{ printf `genv_enforcer_host_up{%s} == 0` $is | toJson }}
  for: {{ $rule.hostUnreachableFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer gets no answer from {{ "{{ $labels.host }}" }}
    description: >-
      Nothing is enforced there. Other machines are not affected. /hosts gives the reason: the machine is down, refuses the key
      or the command, or is too slow.
- alert: GenvEnforcerPrivilegeMissing
{{- /* The metric counts privileges over all machines; only the problems name the machine. */}}
  {{- if $node }}
  expr: {{ printf `genv_enforcer_missing_privileges{%s} > 0` $is | toJson }}
  {{- else }}
  expr: {{ printf `genv_enforcer_host_problems{%s,code="missing_privilege"} > 0` $is | toJson }}
  {{- end }}
  for: {{ $rule.problemFor }}
  labels:
    severity: critical
  annotations:
    {{- if $node }}
    summary: genv-enforcer on {{ $where }} lacks {{ "{{ $labels.privilege }}" }}
    {{- else }}
    summary: genv-enforcer lacks a privilege on {{ "{{ $labels.host }}" }}
    {{- end }}
    description: >-
      Actions that need this privilege are not executed. /hosts explains {{ if $node }}how to grant it. Check the security context, the host's
      PID namespace, the state directory and AppArmor of the pod{{ else }}which one it is and how to grant it. Check
      {{ if $bare }}the unit or the flags of the container, and over SSH {{ end }}sudo on that machine{{ end }}.
- alert: GenvEnforcerStateUnreadable
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"state_unreadable|state_incomplete|state_directory_moved|state_user_mount|state_timeout"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv's state on {{ "{{ $labels.host }}" }} cannot be read ({{ "{{ $labels.code }}" }})
    description: >-
      Rules that need it take no action. Check envs.json and devices.json in genv's state directory there: any local user can
      change them. If you cannot repair them, move them away when no environment is active.
- alert: GenvEnforcerGpuToolFailing
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"gpu_tool_failed|gpu_lost|gpu_needs_new_container|gpu_access_denied"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: critical
  annotations:
    summary: the GPUs of {{ "{{ $labels.host }}" }} cannot be observed ({{ "{{ $labels.code }}" }})
    description: >-
      Nothing is enforced there. Run nvidia-smi on the machine. A driver that does not match, a lost GPU or a hanging tool
      often requires a restart of the machine.{{ if $node }} If nvidia-smi works there, check the runtime class of the pod.{{ end }}
- alert: GenvEnforcerLockHeld
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"lock_timeout|lock_unusable"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: a process holds genv's lock on {{ "{{ $labels.host }}" }} ({{ "{{ $labels.code }}" }})
    description: >-
      The service detaches nothing meanwhile. /hosts names the process, command and user that hold genv.lock.
- alert: GenvEnforcerSecondEnforcer
  expr: {{ printf `genv_enforcer_host_problems{%s,code=~"second_enforcer|enforcer_lock_unusable"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: another enforcer acts on {{ "{{ $labels.host }}" }}, or may do so ({{ "{{ $labels.code }}" }})
    description: >-
      second_enforcer: this one takes no action there. Stop one of them, for example
      {{ if $bare }}a container beside the service of the packages{{ else }}a service that was started without this chart, or a second
      release of it{{ end }}. enforcer_lock_unusable: this one acts, but cannot find out whether it is the only one.
      /hosts names the file in the place of its lock: remove that file.
- alert: GenvEnforcerTerminationLimitReached
  expr: {{ printf `genv_enforcer_host_problems{%s,code="termination_limit_reached"} > 0` $is | toJson }}
  for: {{ $rule.terminationLimitFor }}
  labels:
    severity: warning
  annotations:
    summary: the termination limit delays terminations on {{ "{{ $labels.host }}" }}
    description: >-
      Either many processes break a rule, or genv's state is wrong. Check /violations?status=active first, and set
      {{ ternary "GENV_ENFORCER_MODE" "settings.mode" $bare }}=audit during the check. Raise
      {{ ternary "GENV_ENFORCER_MAX_TERMINATIONS_PER_CYCLE" "settings.maxTerminationsPerCycle" $bare }} only if the violations
      are right.
- alert: GenvEnforcerProcessUnkillable
  expr: {{ printf `increase(%[1]s[%[2]s]) > 0 or (%[1]s > 0 unless %[1]s offset %[2]s)` (printf `genv_enforcer_terminations_total{%s,outcome="unkillable"}` $is) $window | toJson }}
  labels:
    severity: warning
  annotations:
    summary: a process on {{ $where }} survives SIGKILL
    description: >-
      The kernel holds the process, mostly in the driver, and the process keeps its devices. /violations?status=active names it
      (outcome unkillable). In most cases only a reset of the GPU or a restart of the machine helps.
- alert: GenvEnforcerDatabaseFailing
  expr: {{ printf `max without (host) (genv_enforcer_host_problems{%s,code=~"data_unwritable|data_foreign|data_locked|data_damaged"}) > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer on {{ $where }} has trouble with its database ({{ "{{ $labels.code }}" }})
    description: >-
      All rules act. data_damaged: an earlier database is lost; the alert ends when its damaged file is deleted. The other codes:
      the next run of the service does not know what happens now, so it sends SIGTERM again, and grace periods begin again.
      /hosts gives the reason. Check the folder of the database and its disk.
- alert: GenvEnforcerDeliveryFailing
  expr: {{ printf `max without (host) (genv_enforcer_host_problems{%s,code="notification_failed"}) > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer on {{ $where }} cannot deliver messages
    description: >-
      All rules act. Attempts to deliver messages to users or events to a receiver fail. /hosts names the kind of delivery and the
      reason. Check the mail server, the receiver of the webhook, or the privileges for terminals.
- alert: GenvEnforcerAuditMode
  expr: >-
    sum by ({{ $same }}) (genv_enforcer_active_violations{ {{- $is -}} }) > 0
    and on ({{ $same }}) genv_enforcer_info{ {{- $is -}} ,mode="audit"}
    and on ({{ $same }}) max_over_time(genv_enforcer_info{ {{- $is -}} ,mode="audit"}[1h] offset {{ $rule.auditFor }})
    unless on ({{ $same }}) max_over_time(genv_enforcer_info{ {{- $is -}} ,mode="enforce"}[{{ $rule.auditFor }}:5m])
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer{{ if $bare }} on {{ "{{ $labels.instance }}" }}{{ end }} only reports violations, for more than {{ $rule.auditFor }}
    description: >-
      It is in audit mode, in which it terminates and detaches nothing, and {{ "{{ $value }}" }} violations are active. Read them on
      its page, then set {{ ternary "GENV_ENFORCER_MODE" "settings.mode" $bare }}=enforce. The page The first week of the documents
      leads there rule by rule.
- alert: GenvEnforcerViolationLasts
  expr: {{ printf `genv_enforcer_oldest_violation_seconds{%s} > %s` $is (div (include "genv-enforcer.millis" $rule.violationFor) 1000 | toString) | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: a violation of {{ "{{ $labels.rule }}" }} on {{ $where }} lasts for more than {{ $rule.violationFor }}
    description: >-
      The rule is enforced, and still nothing has ended the violation. /violations?status=active names it, the actions and why
      they failed or wait. A violation of which only protected or exempt processes are left causes no alert.
- alert: GenvEnforcerSettingUserUnknown
  expr: {{ printf `genv_enforcer_host_problems{%s,code="setting_user_unknown"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: "{{ "{{ $labels.host }}" }} does not know a user or group of the settings"
    description: >-
      Nothing is done there to processes that may be those of an exempt user whom the machine does not know, and the limits of an
      unknown user or group have no effect. /hosts gives the name: correct it, or check the name service of the machine.
- alert: GenvEnforcerAccountsUnreadable
  expr: {{ printf `genv_enforcer_host_problems{%s,code="passwd_unreadable"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer cannot read the accounts of {{ "{{ $labels.host }}" }}
    description: >-
      Exemptions and limits of users rest on the accounts that were found last. What a name of the settings may protect is not
      terminated. /hosts gives the reason: /etc/passwd, or a name service that does not answer.
- alert: GenvEnforcerMembershipUnknown
  expr: {{ printf `genv_enforcer_host_problems{%s,code="membership_unknown"} > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer cannot find the environment of processes on {{ "{{ $labels.host }}" }}
    description: >-
      Of all rules only max-memory-per-user acts on these processes. /hosts names them and the reason. Often a program overwrites
      its environment variables: start it with SPT_NOENV=1.
- alert: GenvEnforcerPolicyUnreadable
  expr: {{ printf `max without (host) (genv_enforcer_host_problems{%s,code="policy_unreadable"}) > 0` $is | toJson }}
  for: {{ $rule.problemFor }}
  labels:
    severity: warning
  annotations:
    summary: genv-enforcer on {{ $where }} cannot read its policy file
    description: >-
      The last valid content stays in force, so changes have no effect, and a restart of the service would fail. /hosts gives the
      reason, and genv-enforcer policy check FILE all errors.
{{- end -}}
