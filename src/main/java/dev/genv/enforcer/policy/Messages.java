package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action.Signal;
import java.util.List;
import java.util.stream.Collectors;

/** Messages in the words of genv, which administrators search logs for. Text of users is escaped in them. */
public final class Messages {
    private Messages() {}

    /** Returns the prefix of a line about a machine; empty if the service enforces only on its own node. */
    public static String on(Fleet fleet, String host) {
        return fleet.remote() ? "[" + SafeText.escape(host) + "] " : "";
    }

    public static String of(Action action) {
        return switch (action) {
            case Action.Terminate(var host, var process, var signal) ->
                "Terminating process %d from environment %s that is running on GPU(s) %s%s"
                        .formatted(
                                process.pid(),
                                environmentOf(process),
                                list(process.devices()),
                                signal == Signal.KILL ? " with SIGKILL" : "");
            case Action.Detach(var host, var environment, var device, var attachment) ->
                "Detaching environment %s of user %s from device %d"
                        .formatted(SafeText.escape(environment.eid()), name(environment), device);
        };
    }

    /** The same of an action that the service would take if it enforced. */
    public static String wouldBe(Action action) {
        return of(action)
                .replaceFirst("^Terminating ", "Would terminate ")
                .replaceFirst("^Detaching ", "Would detach ");
    }

    public static String list(List<Integer> numbers) {
        return numbers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    private static String name(Environment environment) {
        var name = environment.username();
        return name == null || name.isEmpty() ? "N/A" : SafeText.escape(name);
    }

    /** The id of the environment that a process names, or {@code N/A}. */
    public static String environmentOf(GpuProcess process) {
        return process.environmentId().map(SafeText::escape).orElse("N/A");
    }
}
