package dev.genv.enforcer.facts;

/** What a source answered about the GPUs of a machine and the processes on them. */
public sealed interface GpuFacts permits GpuFacts.ToolFacts, GpuFacts.SelectedFacts, NvmlFacts {
    /** Whether what is known of the devices is as recent as the list of the processes. */
    boolean devicesAreCurrent();

    /**
     * The answers of nvidia-smi. The reason of a failure is a whole sentence such as {@code nvidia-smi did not exit within 5000 ms}; it
     * may be empty for a timeout, and if the program was not run because it hung before.
     *
     * @param processes the answer to the query for the processes
     * @param devices the answer to the query for the devices; any failure if the other query failed. It may be older than the other one,
     *     by a minute at most
     * @param devicesAreCurrent whether it is not older
     * @param status the answer to the query for memory, temperature and utilization; {@link #NOT_ASKED} if it was not made
     */
    record ToolFacts(
            Reading<ToolOutput> processes,
            Reading<ToolOutput> devices,
            boolean devicesAreCurrent,
            Reading<ToolOutput> status)
            implements GpuFacts {
        /** A query that was not made because nothing needs its answer. */
        public static final Reading<ToolOutput> NOT_ASKED = Reading.failed(Reading.Failure.SKIPPED, "");

        /** Creates answers to queries that were made one directly after the other, without the query for the status. */
        public ToolFacts(Reading<ToolOutput> processes, Reading<ToolOutput> devices) {
            this(processes, devices, true, NOT_ASKED);
        }

        public ToolFacts withStatus(Reading<ToolOutput> answer) {
            return new ToolFacts(processes, devices, devicesAreCurrent, answer);
        }
    }

    /**
     * The answer of the source that was selected among several.
     *
     * @param reason why it was selected, as a clause
     * @param difference how the answers of the sources differ, so that NVML is not trusted, as a clause; empty if they do not
     */
    record SelectedFacts(GpuFacts answer, String reason, String difference) implements GpuFacts {
        @Override
        public boolean devicesAreCurrent() {
            return answer.devicesAreCurrent();
        }
    }

    /** The output of the program, at most 16 MiB each. */
    record ToolOutput(int exitCode, Bytes stdout, Bytes stderr) {}
}
