package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.Table;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
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
 * Faults of one of two machines, with real OpenSSH servers. Enforcement on the other machine continues, and the machine recovers without help. Several fleets run in parallel.
 */
@Tag("long")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RemoteFaultsIT {
    private final ParallelFaults<Fault<FaultyFleet>, FaultyFleet.Outcome> faults = new ParallelFaults<>();

    @BeforeAll
    void startFaults(@TempDir Path directory) {
        runFaults(directory.resolve("connections"), RemoteFaults.ofConnections());
        runFaults(directory.resolve("logins"), RemoteFaults.ofLogins());
        runFaults(directory.resolve("commands"), RemoteFaults.ofCommands());
        runFaults(directory.resolve("machines"), RemoteFaults.ofMachines());
    }

    @TestFactory
    @Order(1)
    Stream<DynamicTest> faultHasTheExpectedOutcome() {
        return faults.tests();
    }

    @Test
    @Order(2)
    void pageListsTheOutcomes() throws Exception {
        var table = new Table(
                "faults.md",
                "remote-faults",
                "a machine that",
                "status",
                "a process that breaks a rule there",
                "reported");
        table.writeAndCheck(faults.outcomes(), RemoteFaultsIT::tableCells);
    }

    @AfterAll
    void awaitFaults() throws InterruptedException {
        faults.join();
    }

    /** Runs faults on a separate fleet. */
    private void runFaults(Path directory, List<Fault<FaultyFleet>> list) {
        faults.start(list, all -> {
            try (var fleet = new FaultyFleet(Files.createDirectory(directory))) {
                all.inject(fleet::runFault);
            }
        });
    }

    private static String[] tableCells(FaultyFleet.Outcome outcome) {
        var fault = outcome.fault();
        var reported = outcome.reported().stream().map("`%s`"::formatted).collect(Collectors.joining(", "));
        return new String[] {
            fault.name, outcome.status(), outcome.strayOutcome().description, reported.isEmpty() ? "–" : reported
        };
    }
}
