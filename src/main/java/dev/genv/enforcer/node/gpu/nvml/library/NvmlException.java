package dev.genv.enforcer.node.gpu.nvml.library;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;

/** NVML cannot list the GPUs. Without a stack trace, because it may come in every cycle. */
public final class NvmlException extends Exception {
    private static final long serialVersionUID = 1L;

    private final Cause kind;
    private final int code;

    /** An exception for any cause other than an error of NVML. */
    public NvmlException(Cause kind, String sentence) {
        this(kind, 0, sentence);
    }

    public NvmlException(Cause kind, int code, String sentence) {
        super(sentence, null, false, false);
        this.kind = kind;
        this.code = code;
    }

    public NvmlFacts.Failed facts() {
        return new NvmlFacts.Failed(kind, code, String.valueOf(getMessage()));
    }
}
