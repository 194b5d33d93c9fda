package dev.genv.enforcer.e2e;

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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Everything that can go wrong with one of two machines, with real OpenSSH servers: in each case the other one is
 * enforced on as ever, and the one recovers by itself. Several fleets suffer side by side.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RemoteFaultsIT {
    private final SideBySide<RemoteFault, FaultyFleet.Outcome> faults = new SideBySide<>();

    @BeforeAll
    void begin(@TempDir Path directory) {
        split(directory.resolve("connections"), RemoteFaults.ofConnections(), 3);
        split(directory.resolve("endless"), RemoteFaults.ofEndlessCommands(), 3);
        split(directory.resolve("commands"), RemoteFaults.ofCommands(), 3);
        split(directory.resolve("machines"), RemoteFaults.ofMachines(), 2);
    }

    @TestFactory
    @Order(1)
    Stream<DynamicTest> everyFault() {
        return faults.tests();
    }

    @Test
    @Order(2)
    void theReadmeTellsWhatCameOfThem() throws Exception {
        var table = new Table(
                "faults.md",
                "remote-faults",
                "a machine that",
                "status",
                "a process that breaks a rule there",
                "reported");
        table.tells(faults.outcomes(), RemoteFaultsIT::cells, 25);
    }

    @AfterAll
    void end() throws InterruptedException {
        faults.join();
    }

    /** Each part on a fleet of its own, for what takes long is to wait. */
    private void split(Path directory, List<RemoteFault> list, int count) {
        var number = 0;
        for (var part : SideBySide.split(list, count)) {
            suffer(directory.resolveSibling("%s-%d".formatted(directory.getFileName(), number++)), part);
        }
    }

    /** On a fleet of its own. */
    private void suffer(Path directory, List<RemoteFault> list) {
        faults.begin(list, all -> {
            try (var fleet = new FaultyFleet(Files.createDirectory(directory))) {
                all.suffer(fleet::suffer);
            }
        });
    }

    private static String[] cells(FaultyFleet.Outcome outcome) {
        var fault = outcome.fault();
        var told = outcome.told().stream().map("`%s`"::formatted).collect(Collectors.joining(", "));
        return new String[] {fault.name(), outcome.status(), outcome.stray().words, told.isEmpty() ? "–" : told};
    }
}
