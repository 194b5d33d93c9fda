{{- /* The same nodes as those of NVIDIA's device plugin, if nothing else is said. */ -}}
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
Only pods of a DaemonSet have it: two of them on a node, of two releases, would act on the same GPUs, and nothing would keep
the second one from it where they do not share the state directory. The pod over SSH may be anywhere.
*/ -}}
{{- define "genv-enforcer.nodeLabel" -}}
{{- if eq .Values.mode "node" -}}
genv-enforcer/enforces: node
{{- end -}}
{{- end -}}

{{- define "genv-enforcer.podLabels" -}}
{{- toYaml (merge (include "genv-enforcer.nodeLabel" . | fromYaml) (include "genv-enforcer.labels" . | fromYaml)) -}}
{{- end -}}

{{- /* What the values say of it, or else the nodes with a GPU; and that no other enforcer is there. */ -}}
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
      # A GPU on the PCI bus, as node feature discovery labels it; 10de is NVIDIA.
      - matchExpressions:
          - key: feature.node.kubernetes.io/pci-10de.present
            operator: In
            values: ["true"]
      # Some systems with Tegra have none there.
      - matchExpressions:
          - key: feature.node.kubernetes.io/cpu-model.vendor_id
            operator: In
            values: [NVIDIA]
      # Somebody says so.
      - matchExpressions:
          - key: nvidia.com/gpu.present
            operator: In
            values: ["true"]
{{- end -}}
