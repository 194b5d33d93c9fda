package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.host.AccountFacts.TextFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.ProcessId;
import java.util.Set;
import java.util.function.LongSupplier;

/** What is remembered of a machine from one observation to the next, so that it is not asked again. */
final class HostMemory {
    private final SilentProcesses silent;
    private final HangBackoff<Step> hanging;
    private String passwd = "";
    private String subuid = "";

    HostMemory(LongSupplier nanos) {
        silent = new SilentProcesses(nanos);
        hanging = new HangBackoff<>(nanos);
    }

    private enum Step {
        GPU_TOOL,
        DEVICE_STATUS,
        KERNELS
    }

    /**
     * What an observation leaves out.
     *
     * @param processes the processes whose memory is not read
     * @param tool whether nvidia-smi is not run
     * @param status whether nvidia-smi is not asked for what is measured on the devices
     * @param kernels whether Jupyter kernels are not searched
     * @param passwd the version of the file whose content is known
     * @param subuid likewise
     */
    record Omitted(
            Set<ProcessId> processes, boolean tool, boolean status, boolean kernels, String passwd, String subuid) {}

    Omitted omitted() {
        return new Omitted(
                silent.skipped(),
                hanging.isPaused(Step.GPU_TOOL),
                hanging.isPaused(Step.DEVICE_STATUS),
                hanging.isPaused(Step.KERNELS),
                passwd,
                subuid);
    }

    void record(Answer.Observed answer, Omitted omitted) {
        var facts = answer.facts();
        silent.record(facts.allProcesses(), omitted.processes());
        if (!omitted.tool()) {
            record(Step.GPU_TOOL, answer.toolHangs());
        }
        var status = facts.gpu().status();
        var statusFailure = status instanceof Reading.Failed(var failure, var _) ? failure : null;
        if (statusFailure == null || statusFailure == Reading.Failure.TIMEOUT) {
            record(Step.DEVICE_STATUS, statusFailure != null);
        }
        // No files and no failure may also mean that there was nothing to search for, which is no answer.
        var kernels = facts.liveness().kernels();
        var kernelsHung = !kernels.unsearched().isEmpty();
        if (!omitted.kernels() && (kernelsHung || !kernels.files().isEmpty())) {
            record(Step.KERNELS, kernelsHung);
        }
        passwd = version(facts.accounts().passwd(), passwd);
        subuid = version(facts.accounts().subuid(), subuid);
    }

    private void record(Step step, boolean hung) {
        if (hung) {
            hanging.recordHang(step);
        } else {
            hanging.recordAnswer(step);
        }
    }

    private static String version(Reading<TextFile> file, String known) {
        return file instanceof Reading.Value<TextFile>(var text) ? text.version() : known;
    }
}
