package dev.genv.enforcer.facts;

/**
 * The answers of nvidia-smi.
 *
 * @param processes the answer to the query for the processes
 * @param devices the answer to the query for the devices; it may be older than the other one, by a minute at most
 */
public record GpuFacts(Reading<ToolOutput> processes, Reading<ToolOutput> devices) {
    /** The output of the program, at most 1 MiB each. */
    public record ToolOutput(int exitCode, Bytes stdout, Bytes stderr) {}
}
