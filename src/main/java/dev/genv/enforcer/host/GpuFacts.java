package dev.genv.enforcer.host;

/**
 * What nvidia-smi answered about the GPUs of a machine and the processes on them. The reason of a failure is a whole sentence such as
 * {@code nvidia-smi did not exit within 5000 ms}; it may be empty for a timeout, and if the program was not run because it hung before.
 *
 * @param processes the answer to the query for the processes
 * @param devices the answer to the query for the devices; any failure if the other query failed. It may be older than the other one,
 *     by a minute at most
 * @param devicesAreCurrent whether it is not older
 * @param status the answer to the query for memory, temperature and utilization; {@link #NOT_ASKED} if it was not made
 */
public record GpuFacts(
        Reading<ToolOutput> processes,
        Reading<ToolOutput> devices,
        boolean devicesAreCurrent,
        Reading<ToolOutput> status) {
    /** A query that was not made because nothing needs its answer. */
    public static final Reading<ToolOutput> NOT_ASKED = Reading.failed(Reading.Failure.SKIPPED, "");

    /** Creates answers to queries that were made one directly after the other, without the query for the status. */
    public GpuFacts(Reading<ToolOutput> processes, Reading<ToolOutput> devices) {
        this(processes, devices, true, NOT_ASKED);
    }

    public GpuFacts withStatus(Reading<ToolOutput> answer) {
        return new GpuFacts(processes, devices, devicesAreCurrent, answer);
    }

    /** The output of the program, at most 16 MiB each. */
    public record ToolOutput(int exitCode, Bytes stdout, Bytes stderr) {}
}
