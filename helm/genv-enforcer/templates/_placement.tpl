{{- /* By default the nodes of NVIDIA's device plugin. */ -}}
{{- define "genv-enforcer.placement" -}}
{{- $node := eq .Values.mode "node" -}}
{{- if .Values.tolerations }}
tolerations:
  {{- toYaml .Values.tolerations | nindent 2 }}
{{- else if and $node (kindIs "invalid" .Values.tolerations) }}
tolerations:
  - key: nvidia.com/gpu
    operator: Exists
    effect: NoSchedule
{{- end }}
{{- with include "genv-enforcer.affinity" . | fromYaml }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /*
Only pods of a DaemonSet have it. Two of them on a node, of two releases, would act on the same GPUs, and with different state
directories neither would detect the other. The pod that enforces over SSH may run on any node.
*/ -}}
{{- define "genv-enforcer.nodeLabel" -}}
{{- if eq .Values.mode "node" -}}
genv-enforcer/enforces: node
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.podLabels" -}}
{{- toYaml (merge (include "genv-enforcer.nodeLabel" . | fromYaml) (include "genv-enforcer.labels" . | fromYaml)) -}}
{{- end -}}

{{- /* The affinity of the values, or else for nodes with a GPU, with a rule that allows one enforcer on a node. */ -}}
{{- define "genv-enforcer.affinity" -}}
{{- $affinity := deepCopy (.Values.affinity | default dict) -}}
{{- if eq .Values.mode "node" -}}
{{- if kindIs "invalid" .Values.affinity -}}
{{- $affinity = include "genv-enforcer.gpuNodes" . | fromYaml -}}
{{- end -}}
{{- $key := "requiredDuringSchedulingIgnoredDuringExecution" -}}
{{- $anti := $affinity.podAntiAffinity | default dict -}}
{{- $alone := dict
  "labelSelector" (dict "matchLabels" (include "genv-enforcer.nodeLabel" . | fromYaml))
  "namespaceSelector" dict
  "topologyKey" "kubernetes.io/hostname" -}}
{{- $_ := set $anti $key (append (get $anti $key | default list) $alone) -}}
{{- $_ := set $affinity "podAntiAffinity" $anti -}}
{{- end -}}
{{- toYaml $affinity -}}
{{- end -}}

{{- define "genv-enforcer.gpuNodes" -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
      # Node feature discovery labels nodes with a device of NVIDIA (10de) on the PCI bus.
      - matchExpressions:
          - key: feature.node.kubernetes.io/pci-10de.present
            operator: In
            values: ["true"]
      # Some Tegra systems have no GPU on the PCI bus.
      - matchExpressions:
          - key: feature.node.kubernetes.io/cpu-model.vendor_id
            operator: In
            values: [NVIDIA]
      # GKE labels its nodes with GPUs.
      - matchExpressions:
          - key: cloud.google.com/gke-accelerator
            operator: Exists
      # The GPU Operator or an administrator labels the node.
      - matchExpressions:
          - key: nvidia.com/gpu.present
            operator: In
            values: ["true"]
{{- end -}}
