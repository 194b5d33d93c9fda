package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.GpuFacts.SelectedFacts;
import dev.genv.enforcer.facts.NvmlFacts;
import org.jboss.logging.Logger;

/** Logs each choice of a source once. */
final class ChoiceLog {
    private static final Logger LOG = Logger.getLogger(SourceSelector.class);

    private String logged = "";

    void log(SelectedFacts selected) {
        var source = selected.answer() instanceof NvmlFacts ? "NVML" : "nvidia-smi";
        var line = "%s is the source of GPU data: %s".formatted(source, selected.reason());
        if (!line.equals(logged)) {
            logged = line;
            var failed = selected.answer() instanceof NvmlFacts.Failed;
            if (!selected.difference().isEmpty()) {
                LOG.errorf("%s: %s", line, selected.difference());
            } else {
                LOG.log(failed ? Logger.Level.WARN : Logger.Level.INFO, line);
            }
        }
    }
}
