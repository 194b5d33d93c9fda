package dev.genv.enforcer.facts;

/**
 * The answers of nvidia-smi. The reason of a failure is a whole sentence such as {@code nvidia-smi did not exit within 5000 ms}; it may
 * be empty for a timeout, and if the program was not run because it hung before.
 *
 * @param processes the answer to the query for the processes
 * @param devices the answer to the query for the devices; any failure if the other query failed. It may be older than the other one, by a minute at most
 */
public record GpuFacts(Reading<ToolOutput> processes, Reading<ToolOutput> devices) {
    /** The output of the program, at most 16 MiB each. */
    public record ToolOutput(int exitCode, Bytes stdout, Bytes stderr) {}
}
