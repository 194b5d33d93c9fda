package dev.genv.enforcer.enforcement.host;

import java.time.Duration;

/** What came of a task on a host. */
public sealed interface HostAnswer<T> {
    String host();

    /** The result of the task. */
    record Answered<T>(String host, T value) implements HostAnswer<T> {}

    /**
     * There is no result.
     *
     * @param waited how long the caller waited for all hosts by then
     */
    record Failed<T>(String host, HostException why, Duration waited) implements HostAnswer<T> {}
}
