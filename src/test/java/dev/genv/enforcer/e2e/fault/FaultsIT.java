package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.Table;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults around the packaged service, with real files and processes. Several services run in parallel, each with one fault after the other; the service must recover from each fault before the next.
 */
@Tag("long")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class FaultsIT {
    private final ParallelFaults<Fault, FaultyNode.Outcome> faults = new ParallelFaults<>();

    @BeforeAll
    void startFaults(@TempDir Path directory) throws IOException {
        split(directory.resolve("envs"), StateFileFaults.ofEnvs(), 3);
        split(directory.resolve("devices"), StateFileFaults.ofDevices(), 3);
        split(directory.resolve("place"), PathFaults.all(), 2);
        runFaults(directory.resolve("failing"), ToolFaults.failing(), _ -> {}, () -> {});
        runFaults(directory.resolve("hanging"), ToolFaults.hanging(), node -> node.set("GPU_TIMEOUT", "5s"), () -> {});
        split(directory.resolve("tool"), ToolFaults.otherFailures(), 2);
        runFaults(directory.resolve("gpus"), GpuLossFaults.all(), _ -> {}, () -> {});
        runFaults(directory.resolve("service"), ServiceFaults.all(), node -> node.set("KILL_AFTER", "2s"), () -> {});
        runFaults(directory.resolve("mounts"), MountFaults.all(), MountFaults::prepare, () -> {});
        runFaults(directory.resolve("requests"), RequestFaults.all(), _ -> {}, () -> {});
        var disk = new FullDisk();
        runFaults(directory.resolve("disk"), List.of(disk.fault()), disk::prepare, disk);
    }

    @TestFactory
    @Order(1)
    Stream<DynamicTest> faultHasTheExpectedOutcome() {
        return faults.tests();
    }

    @Test
    @Order(2)
    void pageListsTheOutcomes() throws Exception {
        Requirements.root();
        var table = new Table("faults.md", "faults", "fault", "a process that breaks a rule", "reported", "health");
        table.writeAndCheck(faults.outcomes(), FaultsIT::tableCells, 40);
    }

    @AfterAll
    void awaitFaults() throws InterruptedException {
        faults.join();
    }

    /** Runs each part on a separate node, because most faults wait. */
    private void split(Path directory, List<Fault> list, int count) {
        ParallelFaults.split(directory, list, count, (own, part) -> runFaults(own, part, _ -> {}, () -> {}));
    }

    /** Runs faults on a separate node. */
    private void runFaults(Path directory, List<Fault> list, FaultyNode.Preparation preparation, AutoCloseable around) {
        faults.start(list, all -> {
            try (around;
                    var node = new Node(Files.createDirectory(directory));
                    var faulty = new FaultyNode(node, preparation)) {
                all.inject(faulty::runFault);
            }
        });
    }

    private static String[] tableCells(FaultyNode.Outcome outcome) {
        var fault = outcome.fault();
        var reported = new ArrayList<String>();
        for (var code : outcome.reported()) {
            if (!fault.possiblyReported().contains(code)) {
                reported.add("`%s`".formatted(code));
            }
        }
        fault.possiblyReported().forEach(code -> reported.add("perhaps `%s`".formatted(code)));
        if (!fault.logText().isEmpty()) {
            reported.add("the log: `%s`".formatted(fault.logText()));
        }
        return new String[] {
            fault.name(),
            outcome.strayOutcome().description,
            reported.isEmpty() ? "–" : String.join(", ", reported),
            outcome.health()
        };
    }
}
