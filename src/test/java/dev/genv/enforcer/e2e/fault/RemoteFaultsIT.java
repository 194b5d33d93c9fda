package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.OutcomeSuite;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults of one of two machines, with real OpenSSH servers. Enforcement on the other machine continues, and the machine recovers without help. Several fleets run in parallel.
 */
@Tag("long")
class RemoteFaultsIT extends OutcomeSuite<Fault<FaultyFleet>, FaultyFleet.Outcome> {
    RemoteFaultsIT() {
        super(
                Executors.newCachedThreadPool(),
                "faults.md",
                "remote-faults",
                "a machine that",
                "status",
                "a process that breaks a rule there",
                "reported");
    }

    @BeforeAll
    void startFaults(@TempDir Path directory) {
        runFaults(directory.resolve("connections"), RemoteFaults.ofConnections());
        runFaults(directory.resolve("logins"), RemoteFaults.ofLogins());
        runFaults(directory.resolve("commands"), RemoteFaults.ofCommands());
    }

    /** Runs faults on a separate fleet. */
    private void runFaults(Path directory, List<Fault<FaultyFleet>> list) {
        start(list, all -> {
            try (var fleet = new FaultyFleet(Files.createDirectory(directory))) {
                all.run(fleet::runFault);
            }
        });
    }

    @Override
    protected String[] cells(FaultyFleet.Outcome outcome) {
        var reported = outcome.reported().stream().map("`%s`"::formatted).collect(Collectors.joining(", "));
        return new String[] {
            outcome.fault().name,
            outcome.status(),
            outcome.strayOutcome().description,
            reported.isEmpty() ? "–" : reported
        };
    }
}
