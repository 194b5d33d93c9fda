package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

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

    /**
     * Pauses between attempts at what hung. Each attempt may leave a process on the machine that nothing can terminate, so the pause
     * doubles each time.
     */
    static final class HangBackoff<K> {
        static final Duration SHORTEST = Duration.ofMinutes(1);
        static final Duration LONGEST = Duration.ofHours(1);
        private static final int MAX_REMEMBERED = 1000;

        private final LongSupplier nanos;
        private final Map<K, Pause> pauses = new LinkedHashMap<>();

        /** Creates a backoff without pauses, with a clock like {@link System#nanoTime}. */
        HangBackoff(LongSupplier nanos) {
            this.nanos = nanos;
        }

        private record Pause(long since, Duration length) {}

        void recordHang(K what) {
            var former = pauses.remove(what);
            var length = former == null ? SHORTEST : former.length.multipliedBy(2);
            pauses.put(what, new Pause(nanos.getAsLong(), length.compareTo(LONGEST) > 0 ? LONGEST : length));
            if (pauses.size() > MAX_REMEMBERED) {
                pauses.remove(pauses.keySet().iterator().next());
            }
        }

        void recordAnswer(K what) {
            pauses.remove(what);
        }

        boolean isPaused(K what) {
            var pause = pauses.get(what);
            return pause != null && nanos.getAsLong() - pause.since < pause.length.toNanos();
        }

        Set<K> paused() {
            return pauses.keySet().stream().filter(this::isPaused).collect(Collectors.toUnmodifiableSet());
        }
    }

    /** The processes of a machine whose environ did not answer. They are skipped for a while. */
    static final class SilentProcesses {
        private final HangBackoff<ProcessId> backoff;

        SilentProcesses(LongSupplier nanos) {
            backoff = new HangBackoff<>(nanos);
        }

        /** Returns the processes to skip. */
        Set<ProcessId> skipped() {
            return backoff.paused();
        }

        /**
         * Records an observation.
         *
         * @param skipped the processes that were skipped; another process may have the pid of one of them by now
         */
        void record(List<ProcessFacts> processes, Set<ProcessId> skipped) {
            for (var process : processes) {
                stat(process)
                        .filter(stat -> !stat.isZombie())
                        .ifPresent(stat -> record(new ProcessId(process.pid(), stat.startTime()), process.environ()));
                skipped.stream()
                        .filter(former -> former.pid() == process.pid() && hasEnded(former, process))
                        .forEach(backoff::recordAnswer);
            }
        }

        private void record(ProcessId id, Reading<EnvironFacts> environ) {
            var failure = environ instanceof Reading.Failed(var why, var _) ? why : null;
            if (failure == Failure.TIMEOUT) {
                backoff.recordHang(id);
            } else if (failure != Failure.SKIPPED && failure != Failure.NO_TIME) {
                backoff.recordAnswer(id);
            }
        }

        private static boolean hasEnded(ProcessId former, ProcessFacts process) {
            return process.before() instanceof Reading.Failed(var why, var _)
                    ? why == Failure.ABSENT
                    : stat(process)
                            .filter(stat -> stat.isZombie() || stat.startTime() != former.startTime())
                            .isPresent();
        }

        private static Optional<ProcStat> stat(ProcessFacts process) {
            return process.before() instanceof Reading.Value<Bytes>(var text)
                    ? ProcStat.tryParse(text.text())
                    : Optional.empty();
        }
    }
}
