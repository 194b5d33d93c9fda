package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.OutcomeSuite;
import dev.genv.enforcer.e2e.fault.Faults.Fault;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults around the packaged service, with real files and processes. Several services run in parallel, each with one fault after the other; the service must recover from each fault before the next.
 */
@Tag("long")
class FaultsIT extends OutcomeSuite<Fault, FaultyNode.Outcome> {
    FaultsIT() {
        super(
                Executors.newCachedThreadPool(),
                "faults.md",
                "faults",
                "fault",
                "a process that breaks a rule",
                "reported",
                "health");
    }

    @BeforeAll
    void startFaults(@TempDir Path directory) {
        runFaults(directory.resolve("files"), Faults.ofFiles(), _ -> {}, () -> {});
        runFaults(directory.resolve("paths"), Faults.ofPaths(), _ -> {}, () -> {});
        runFaults(directory.resolve("tool"), Faults.ofTool(), node -> node.set("GPU_TIMEOUT", "5s"), () -> {});
        runFaults(directory.resolve("listings"), Faults.ofListings(), _ -> {}, () -> {});
        runFaults(directory.resolve("service"), Faults.ofProcesses(), node -> node.set("KILL_AFTER", "2s"), () -> {});
        runFaults(directory.resolve("mounts"), Faults.ofMounts(), Faults::prepareMounts, () -> {});
        var disk = new Faults.FullDisk();
        runFaults(directory.resolve("disk"), List.of(disk.fault()), disk::prepare, disk);
    }

    /** Runs faults on a separate node. */
    private void runFaults(Path directory, List<Fault> list, FaultyNode.Preparation preparation, AutoCloseable around) {
        start(list, all -> {
            try (around;
                    var node = new Node(Files.createDirectory(directory));
                    var faulty = new FaultyNode(node, preparation)) {
                all.run(faulty::runFault);
            }
        });
    }

    @Override
    protected String[] cells(FaultyNode.Outcome outcome) {
        var fault = outcome.fault();
        var reported = new ArrayList<String>();
        outcome.reported().forEach(code -> reported.add("`%s`".formatted(code)));
        fault.possiblyReported.forEach(code -> reported.add("perhaps `%s`".formatted(code)));
        if (!fault.logText.isEmpty()) {
            reported.add("the log: `%s`".formatted(fault.logText));
        }
        return new String[] {
            fault.name,
            outcome.isStrayAlive() ? "terminated after the fault" : "terminated during the fault",
            reported.isEmpty() ? "–" : String.join(", ", reported),
            outcome.health()
        };
    }
}
