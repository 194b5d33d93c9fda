package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.GpuFacts.SelectedFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads NVML if it proves itself, and nvidia-smi otherwise. NVML proves itself by listing the same as nvidia-smi: at the start, after
 * its library was loaded again, and when the driver has another version. Until then nvidia-smi's answer counts. Where nvidia-smi gives
 * no answer, NVML's own checks of its answers are the proof.
 */
public final class SourceSelector implements GpuSource<SelectedFacts> {
    /** The number of readings after which a difference or a failure lasts. */
    private static final int ENOUGH = 3;
    /** The time for which NVML is not tried after a lasting failure, because each attempt costs an initialization. */
    private static final Duration PAUSE = Duration.ofMinutes(10);

    private final Options options;
    private final GpuSource<NvmlFacts> nvml;
    private final GpuSource<ToolFacts> tool;
    private final LongSupplier nanos;
    private @Nullable String trusted;
    private Optional<NvmlFacts.Answer<String>> trustedDriver = Optional.empty();
    private @Nullable Rejection rejection;
    private Optional<SourceComparison> different = Optional.empty();
    private int attempts;
    private int failures;
    private int interruptions;
    private final ChoiceLog choices = new ChoiceLog();

    /** Creates a selector; nothing is read yet. */
    public SourceSelector(Options options, GpuSource<NvmlFacts> nvml, GpuSource<ToolFacts> tool) {
        this(options, nvml, tool, System::nanoTime);
    }

    SourceSelector(Options options, GpuSource<NvmlFacts> nvml, GpuSource<ToolFacts> tool, LongSupplier nanos) {
        this.options = options;
        this.nvml = nvml;
        this.tool = tool;
        this.nanos = nanos;
    }

    /**
     * What the administrator allows.
     *
     * @param nvml whether NVML may be used
     * @param tool whether nvidia-smi may be used in its place
     * @param hold whether NVML stays open between two readings
     */
    public record Options(boolean nvml, boolean tool, boolean hold) {
        private static final String SETTING = "GENV_ENFORCER_GPU_SOURCE=";

        String only() {
            return SETTING + (nvml ? "nvml" : "nvidia-smi");
        }
    }

    /**
     * NVML is not used.
     *
     * @param difference as in {@link SelectedFacts}
     * @param since when it was rejected; null if it is not tried again
     */
    private record Rejection(
            String reason, String difference, @Nullable Long since) {}

    @Override
    public SelectedFacts read() throws InterruptedException {
        var selected = selectInTime();
        if (options.nvml && !options.hold) {
            nvml.release();
        }
        choices.log(selected);
        return selected;
    }

    @Override
    public void forgetDevices() {
        nvml.forgetDevices();
        tool.forgetDevices();
    }

    @Override
    public void release() {
        nvml.release();
        tool.release();
    }

    /** NVML and nvidia-smi together may take longer than an observation may, and then neither would ever give an answer. */
    private SelectedFacts selectInTime() throws InterruptedException {
        try {
            var selected = select();
            interruptions = 0;
            return selected;
        } catch (InterruptedException e) {
            interruptions++;
            if (options.tool && interruptions >= ENOUGH) {
                rejection = new Rejection("NVML and the comparison with it took too long", "", nanos.getAsLong());
                interruptions = 0;
            }
            throw e;
        }
    }

    private SelectedFacts select() throws InterruptedException {
        if (!options.nvml) {
            return new SelectedFacts(tool.read(), options.only(), "");
        }
        var rejected = rejection;
        if (rejected != null && isRejected(rejected)) {
            return withoutNvml(rejected);
        }
        rejection = null;
        return switch (readNvml()) {
            case NvmlFacts.Failed failed -> failed(failed);
            case NvmlFacts.Listed listed -> {
                failures = 0;
                if (!trustedDriver.equals(Optional.of(listed.driver()))) {
                    trusted = null; // NVML may have been loaded again without a failure
                }
                trustedDriver = Optional.of(listed.driver());
                yield trusted == null ? prove(listed) : new SelectedFacts(listed, trusted, "");
            }
        };
    }

    private boolean isRejected(Rejection rejected) {
        return rejected.since == null || nanos.getAsLong() - rejected.since < PAUSE.toNanos();
    }

    /** After an error NVML is read again at once, which loads it again, because the driver may have been replaced. */
    private NvmlFacts readNvml() throws InterruptedException {
        var facts = nvml.read();
        if (trusted == null || !(facts instanceof NvmlFacts.Failed failed) || hangs(failed)) {
            return facts;
        }
        trusted = null;
        return nvml.read();
    }

    private static boolean hangs(NvmlFacts.Failed failed) {
        return failed.cause() == Cause.TIMEOUT || failed.cause() == Cause.BUSY;
    }

    private SelectedFacts failed(NvmlFacts.Failed failed) throws InterruptedException {
        failures++;
        if (!options.tool) {
            return new SelectedFacts(failed, options.only(), "");
        }
        var reason = "NVML failed: " + failed.reason();
        if (hangs(failed) && failures < ENOUGH) {
            return new SelectedFacts(failed, reason, ""); // nvidia-smi would hang in the same driver
        }
        var answer = tool.read();
        if (!ToolList.wasRun(answer) && failed.cause() != Cause.LIBRARY) {
            return new SelectedFacts(failed, "nvidia-smi cannot be run either", "");
        }
        if (failures >= ENOUGH) {
            reject(new Rejection(reason, "", nanos.getAsLong()));
        }
        return new SelectedFacts(answer, reason, "");
    }

    private void reject(Rejection why) {
        rejection = why;
        trusted = null;
        attempts = 0;
        failures = 0;
        nvml.release();
    }

    private SelectedFacts prove(NvmlFacts.Listed before) throws InterruptedException {
        var answer = tool.read();
        var list = ToolList.of(answer);
        attempts++;
        if (list.isEmpty()) {
            return withoutComparison(before);
        }
        return switch (nvml.read()) {
            case NvmlFacts.Failed failed ->
                new SelectedFacts(options.tool ? answer : failed, "NVML failed: " + failed.reason(), "");
            case NvmlFacts.Listed after -> {
                var difference = list.get().difference(before, after, different);
                different = difference.isEmpty() ? Optional.empty() : list;
                yield compared(difference, answer, after);
            }
        };
    }

    private SelectedFacts withoutComparison(NvmlFacts.Listed listed) {
        var reason = "NVML passed its own checks, and nvidia-smi gives no answer to compare it with";
        if (attempts >= ENOUGH) {
            trusted = reason;
            attempts = 0;
        }
        return new SelectedFacts(listed, reason, "");
    }

    private SelectedFacts compared(Optional<String> difference, ToolFacts answer, NvmlFacts.Listed listed) {
        if (difference.isEmpty()) {
            attempts = 0;
            trusted = "NVML and nvidia-smi list the same";
            return new SelectedFacts(listed, trusted, "");
        }
        if (attempts >= ENOUGH) {
            var lasting = new Rejection("NVML is not trusted", difference.get(), null);
            reject(lasting);
            return options.tool ? new SelectedFacts(answer, lasting.reason, lasting.difference) : withoutBoth(lasting);
        }
        var reason = "NVML is compared again: " + difference.get();
        return options.tool
                ? new SelectedFacts(answer, reason, "")
                : new SelectedFacts(new NvmlFacts.Failed(Cause.LAYOUT, 0, reason), options.only(), "");
    }

    private SelectedFacts withoutNvml(Rejection rejected) throws InterruptedException {
        return options.tool
                ? new SelectedFacts(tool.read(), rejected.reason, rejected.difference)
                : withoutBoth(rejected);
    }

    private SelectedFacts withoutBoth(Rejection rejected) {
        var failed = new NvmlFacts.Failed(Cause.LAYOUT, 0, rejected.reason + ": " + rejected.difference);
        return new SelectedFacts(failed, options.only(), rejected.difference);
    }
}
