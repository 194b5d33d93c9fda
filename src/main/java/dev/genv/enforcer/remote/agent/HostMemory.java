package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
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
import org.jspecify.annotations.Nullable;

/** What is remembered of a machine from one observation to the next, so that it is not asked again. */
final class HostMemory {
    private final HangBackoff<ProcessId> silent;
    private final HangBackoff<Step> hanging;
    private String passwd = "";
    private String subuid = "";

    HostMemory(LongSupplier nanos) {
        silent = new HangBackoff<>(nanos);
        hanging = new HangBackoff<>(nanos);
    }

    private enum Step {
        GPU_TOOL,
        DEVICE_STATUS,
        KERNELS
    }

    /**
     * What an observation leaves out. Such a process may have exited, and another one may have its pid by now.
     *
     * @param processes the processes whose memory is not read
     * @param tool whether nvidia-smi is not run
     * @param status whether nvidia-smi is not asked for what is measured on the devices
     * @param kernels whether Jupyter kernels are not searched
     * @param passwd the version of the file whose content is known; empty if none is
     * @param subuid likewise
     */
    record Omitted(
            Set<ProcessId> processes, boolean tool, boolean status, boolean kernels, String passwd, String subuid) {}

    Omitted omitted() {
        return new Omitted(
                silent.paused(),
                hanging.isPaused(Step.GPU_TOOL),
                hanging.isPaused(Step.DEVICE_STATUS),
                hanging.isPaused(Step.KERNELS),
                passwd,
                subuid);
    }

    void remember(Answer.Observed answer, Omitted omitted) {
        var facts = answer.facts();
        rememberProcesses(facts.processes(), omitted.processes());
        if (!omitted.tool()) {
            hanging.remember(Step.GPU_TOOL, answer.toolHangs());
        }
        var status = failure(facts.gpu().status());
        if (status == null || status == Failure.TIMEOUT) {
            hanging.remember(Step.DEVICE_STATUS, status != null);
        }
        // No files and no failure may also mean that there was nothing to search for, which is no answer.
        if (!omitted.kernels()
                && (answer.argumentsHang()
                        || !facts.liveness().kernels().files().isEmpty())) {
            hanging.remember(Step.KERNELS, answer.argumentsHang());
        }
        passwd = version(facts.accounts().passwd(), passwd);
        subuid = version(facts.accounts().subuid(), subuid);
    }

    /**
     * Remembers of which processes the environ did not answer.
     *
     * @param skipped the processes that were skipped; another process may have the pid of one of them by now
     */
    void rememberProcesses(List<ProcessFacts> processes, Set<ProcessId> skipped) {
        for (var process : processes) {
            var failure = failure(process.environ());
            if (failure != Failure.SKIPPED && failure != Failure.NO_TIME) {
                stat(process)
                        .filter(stat -> !stat.isZombie())
                        .map(stat -> new ProcessId(process.pid(), stat.startTime()))
                        .ifPresent(id -> silent.remember(id, failure == Failure.TIMEOUT));
            }
            skipped.stream()
                    .filter(former -> former.pid() == process.pid() && hasEnded(former, process))
                    .forEach(former -> silent.remember(former, false));
        }
    }

    private static boolean hasEnded(ProcessId former, ProcessFacts process) {
        return failure(process.before()) == Failure.ABSENT
                || stat(process)
                        .filter(stat -> stat.isZombie() || stat.startTime() != former.startTime())
                        .isPresent();
    }

    private static Optional<ProcStat> stat(ProcessFacts process) {
        return process.before() instanceof Reading.Value<Bytes>(var text)
                ? ProcStat.tryParse(text.array())
                : Optional.empty();
    }

    private static @Nullable Failure failure(Reading<?> reading) {
        return reading instanceof Reading.Failed(var failure, var _) ? failure : null;
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

        /** Remembers that something did not answer, or that it did, which ends the pause. */
        void remember(K what, boolean hung) {
            var former = pauses.remove(what);
            if (!hung) {
                return;
            }
            var length = former == null ? SHORTEST : former.length.multipliedBy(2);
            pauses.put(what, new Pause(nanos.getAsLong(), length.compareTo(LONGEST) > 0 ? LONGEST : length));
            if (pauses.size() > MAX_REMEMBERED) {
                pauses.remove(pauses.keySet().iterator().next());
            }
        }

        boolean isPaused(K what) {
            var pause = pauses.get(what);
            return pause != null && nanos.getAsLong() - pause.since < pause.length.toNanos();
        }

        Set<K> paused() {
            return pauses.keySet().stream().filter(this::isPaused).collect(Collectors.toUnmodifiableSet());
        }
    }
}
