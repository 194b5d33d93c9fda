{{- /* The pod of the DaemonSet or the Deployment. */ -}}
{{- define "genv-enforcer.pod" -}}
{{- $node := eq .Values.mode "node" -}}
{{- $annotations := include "genv-enforcer.podAnnotations" . | fromYaml -}}
metadata:
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  labels:
    {{- toYaml (merge (include "genv-enforcer.podLabels" . | fromYaml) (.Values.podLabels | default dict)) | nindent 4 }}
spec:
  serviceAccountName: {{ include "genv-enforcer.serviceAccountName" . | quote }}
  automountServiceAccountToken: false
  # Otherwise Kubernetes would add variables for each Service, whose names can look like settings.
  enableServiceLinks: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $node }}
  # The driver reports pids of the host.
  hostPID: true
  {{- if include "genv-enforcer.runtimeClassName" . }}
  runtimeClassName: {{ .Values.runtimeClassName | quote }}
  {{- end }}
  {{- end }}
  {{- if .Values.hostNetwork }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  {{- with mergeOverwrite (include "genv-enforcer.podSecurityContext" . | fromYaml) (deepCopy .Values.podSecurityContext) }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "genv-enforcer.priorityClassName" . }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  terminationGracePeriodSeconds: {{ int64 .Values.terminationGracePeriodSeconds }}
  {{- $own := include "genv-enforcer.ownData" . }}
  {{- if or $node (not $own) }}
  initContainers:
    - name: data
      image: {{ include "genv-enforcer.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        {{- include "genv-enforcer.securityContext" (dict "Values" .Values "Capabilities" .Capabilities "without" true) | nindent 8 }}
      {{- if $own }}
      # Kubernetes lets all users read a folder that it creates. One that has content stays as it is. The service reports a
      # folder of another user.
      command: [sh, -c, '[ -n "$(ls -A /data)" ] || chmod 0700 /data || true']
      {{- else }}
      # Kubernetes opens an emptyDir to all users. The service uses only a folder that is closed to others.
      command: [sh, -c, "[ -d /data/database ] || mkdir -m 0700 /data/database"]
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
  {{- end }}
  containers:
    - name: {{ .Chart.Name }}
      image: {{ include "genv-enforcer.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        {{- toYaml (mergeOverwrite (include "genv-enforcer.securityContext" . | fromYaml) (deepCopy .Values.securityContext)) | nindent 8 }}
      env:
        {{- if $node }}
        - name: GENV_ENFORCER_NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        {{- range $name, $value := include "genv-enforcer.gpuVariables" . | fromYaml }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
        {{- end }}
        {{- range $name, $value := include "genv-enforcer.environment" . | fromYaml }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: {{ int64 .Values.settings.httpPort }}
          protocol: TCP
        - name: management
          containerPort: {{ int64 .Values.settings.managementPort }}
          protocol: TCP
      {{- range $name, $path := dict "startup" "started" "liveness" "live" "readiness" "ready" }}
      {{ $name }}Probe:
        httpGet:
          path: /q/health/{{ $path }}
          port: management
        {{- toYaml (index $.Values.probes $name) | nindent 8 }}
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      {{- with include "genv-enforcer.mounts" . }}
      {{- . | nindent 6 }}
      {{- end }}
  {{- with include "genv-enforcer.volumes" . }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "genv-enforcer.placement" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "genv-enforcer.runtimeClassName" -}}
{{- if and (eq .Values.mode "node") (has .Values.gpuAccess.mode (list "runtimeClass" "volumeMounts" "privileged")) -}}
{{- .Values.runtimeClassName -}}
{{- end -}}
{{- end -}}

{{- /* The folder in which NVIDIA's runtime looks for requests, where it takes them from mounts. */ -}}
{{- define "genv-enforcer.gpuRequests" -}}
/var/run/nvidia-container-devices
{{- end -}}

{{- /* The image requests all GPUs of NVIDIA's runtime, which may be the default one. */ -}}
{{- define "genv-enforcer.gpuVariables" -}}
{{- $mode := .Values.gpuAccess.mode -}}
{{- if has $mode (list "cdi" "hostDriver") }}
NVIDIA_VISIBLE_DEVICES: void
{{- else if eq $mode "volumeMounts" }}
NVIDIA_VISIBLE_DEVICES: {{ include "genv-enforcer.gpuRequests" . }}
{{- end }}
{{- if eq $mode "hostDriver" }}
GENV_ENFORCER_NVIDIA_SMI: /usr/local/bin/nvidia-smi-of-host
{{- end }}
{{- end -}}

{{- /* Kubernetes gives the device files to a privileged container, or to one that NVIDIA's runtime or CDI changes. */ -}}
{{- define "genv-enforcer.isPrivileged" -}}
{{- if and (eq .Values.mode "node") (has .Values.gpuAccess.mode (list "hostDriver" "privileged")) -}}
true
{{- end -}}
{{- end -}}

{{- /* The service reads the SSH configuration only at its start, so a change needs another pod. It reads the other files again. */ -}}
{{- define "genv-enforcer.podAnnotations" -}}
{{- $annotations := dict -}}
{{- if eq .Values.mode "node" -}}
{{- if eq .Values.gpuAccess.mode "cdi" -}}
{{- $_ := set $annotations (printf "nvidia.cdi.k8s.io/container.%s" .Chart.Name) .Values.gpuAccess.cdiDevice -}}
{{- end -}}
{{- if semverCompare "<1.30-0" .Capabilities.KubeVersion.Version -}}
{{- $_ := set $annotations (printf "container.apparmor.security.beta.kubernetes.io/%s" .Chart.Name) "unconfined" -}}
{{- end -}}
{{- else -}}
{{- with .Values.remote.sshConfig.content -}}
{{- $_ := set $annotations "checksum/ssh-config" (sha256sum .) -}}
{{- end -}}
{{- end -}}
{{- toYaml (merge $annotations (.Values.podAnnotations | default dict)) -}}
{{- end -}}

{{- define "genv-enforcer.priorityClassName" -}}
{{- if kindIs "invalid" .Values.priorityClassName -}}
{{- ternary "system-node-critical" "" (eq .Values.mode "node") -}}
{{- else -}}
{{- .Values.priorityClassName -}}
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.podSecurityContext" -}}
{{- if eq .Values.mode "remote" -}}
runAsNonRoot: true
{{- if not (kindIs "invalid" .Values.remote.runAsUser) }}
runAsUser: {{ int64 .Values.remote.runAsUser }}
runAsGroup: {{ int64 .Values.remote.runAsUser }}
# This group may read the files with the keys.
fsGroup: {{ int64 .Values.remote.runAsUser }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- else if has (toString .Values.messages.terminal) (list "on" "true") -}}
# The group tty, which may write to terminals that accept messages.
supplementalGroups: [5]
{{- end -}}
{{- end -}}

{{- /* Of the service; with "without", of a container that needs no privilege. */ -}}
{{- define "genv-enforcer.securityContext" -}}
readOnlyRootFilesystem: true
{{- if and (not .without) (include "genv-enforcer.isPrivileged" .) }}
privileged: true
runAsUser: 0
{{- else }}
allowPrivilegeEscalation: false
{{- if eq .Values.mode "node" }}
runAsUser: 0
capabilities:
  drop: [ALL]
  {{- if not .without }}
  # To signal the processes of all users, and to read their environment variables.
  add: [KILL, SYS_PTRACE, DAC_READ_SEARCH]
  {{- end }}
seccompProfile:
  type: RuntimeDefault
{{- if and (not .without) (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) }}
# The profiles of container runtimes forbid both.
appArmorProfile:
  type: Unconfined
{{- end }}
{{- else }}
capabilities:
  drop: [ALL]
{{- end }}
{{- end }}
{{- end -}}

{{- define "genv-enforcer.mounts" -}}
{{- $files := include "genv-enforcer.files" . | fromYamlArray -}}
{{- $node := eq .Values.mode "node" -}}
volumeMounts:
  {{- if $node }}
  - name: state
    mountPath: {{ .Values.settings.stateDir | quote }}
  {{- if eq .Values.gpuAccess.mode "volumeMounts" }}
  - name: gpus
    mountPath: {{ include "genv-enforcer.gpuRequests" . }}/all
  {{- else if eq .Values.gpuAccess.mode "hostDriver" }}
  - name: driver
    mountPath: /usr/local/nvidia
    readOnly: true
  {{- end }}
  {{- end }}
  {{- if $files }}
  # The whole folder, because the kubelet never updates a file that is mounted alone.
  - name: files
    mountPath: {{ include "genv-enforcer.folder" . | quote }}
    readOnly: true
  {{- end }}
  - name: data
    mountPath: {{ include "genv-enforcer.dataFolder" . | quote }}
    {{- if not (include "genv-enforcer.ownData" .) }}
    subPath: database
    {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "genv-enforcer.volumes" -}}
{{- $files := include "genv-enforcer.files" . | fromYamlArray -}}
{{- $node := eq .Values.mode "node" -}}
volumes:
  {{- if $node }}
  - name: state
    hostPath:
      path: {{ .Values.settings.stateDir | quote }}
      # The kubelet would create a directory that only root can write to. In enforce mode the service opens it to all
      # users. In audit mode it changes nothing, and genv would fail for every user.
      type: {{ ternary "Directory" "DirectoryOrCreate" (eq .Values.settings.mode "audit") }}
  {{- if eq .Values.gpuAccess.mode "volumeMounts" }}
  # By its place in the container, NVIDIA's runtime knows which GPUs are requested.
  - name: gpus
    hostPath:
      path: /dev/null
  {{- else if eq .Values.gpuAccess.mode "hostDriver" }}
  - name: driver
    hostPath:
      path: {{ .Values.gpuAccess.driverPath | quote }}
      type: Directory
  {{- end }}
  {{- end }}
  {{- if $files }}
  - name: files
    projected:
      defaultMode: 288 # 0440
      sources:
        {{- range $files }}
        - {{ ternary "secret" "configMap" (hasKey . "secret") }}:
            name: {{ .secret | default .configMap | quote }}
            items:
              - key: {{ .key | quote }}
                path: {{ .file }}
        {{- end }}
  {{- end }}
  - name: data
    {{- include "genv-enforcer.data" . | nindent 4 }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
