package dev.genv.enforcer.e2e.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Faults of the service itself and of processes that it signals. */
public final class ServiceFaults {
    private static final Map<String, String> PATH = Map.of("PATH", "/usr/bin:/bin");

    private ServiceFaults() {}

    /** KILL_AFTER must be short. */
    static List<Fault> all() {
        return List.of(
                Fault.harmless("a process that ignores SIGTERM", _ -> {}, _ -> {})
                        .withProcess(() -> ignoring("TERM"))
                        .withLogText("signal=KILL outcome=signalled"),
                Fault.harmless(
                        "a second enforcer",
                        ServiceFaults::startSecondService,
                        FaultyNode::stopHelper,
                        "second_enforcer"),
                Fault.preventingTermination(
                        "the service is stopped by SIGSTOP",
                        node -> signal(node, "STOP"),
                        node -> signal(node, "CONT")));
    }

    /** A program inherits the ignored signals of the shell that executes it. */
    public static Child ignoring(String signal) throws IOException {
        var child = Child.running(List.of("/bin/sh", "-c", "trap '' %s; exec sleep 600".formatted(signal)), PATH);
        await().until(() -> child.command().equals("sleep"));
        return child;
    }

    private static void startSecondService(FaultyNode node) throws IOException {
        var other = node.node.startService();
        node.setOtherService(other);
        node.setHelper(() -> {
            other.stop();
            assertThat(other.outputLines())
                    .as("the second's log")
                    .noneMatch(line -> line.contains("outcome=signalled"));
        });
    }

    private static void signal(FaultyNode node, String name) throws IOException {
        var kill = "kill -%s %d".formatted(name, node.service().process().pid());
        Command.run("/bin/sh", "-c", kill);
        if (name.equals("STOP")) {
            await().until(() -> isStopped(node.service()));
        }
    }

    static boolean isStopped(Node.Service service) throws IOException {
        var stat = Files.readString(
                Path.of("/proc", Long.toString(service.process().pid()), "stat"));
        return stat.substring(stat.lastIndexOf(')')).startsWith(") T");
    }
}
