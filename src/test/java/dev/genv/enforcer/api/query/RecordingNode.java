package dev.genv.enforcer.api.query;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.RecordedPast;
import dev.genv.enforcer.store.Database;
import io.quarkus.test.junit.QuarkusTestProfile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;

/**
 * The service with a journal of an hour. In its second half raz has a third device, two processes ran outside of environments, and one
 * of the users has a hostile name.
 */
public class RecordingNode implements QuarkusTestProfile {
    static final String HOSTILE = "=cmd|' /C calc'!A1";
    static final Duration INTERVAL = RecordedPast.INTERVAL;
    static final int CYCLES = 360;
    /** The first recorded cycle. */
    static final Instant FIRST = Instant.parse("2026-10-01T08:00:00Z");

    static final Instant HALF = FIRST.plus(INTERVAL.multipliedBy(CYCLES / 2));

    /** In clock ticks. A process that is older than the entry of its environment is protected. */
    private static final long AFTER_ITS_ENVIRONMENT = 188_500;

    private static final Path FOLDER = Path.of("target/recording").toAbsolutePath();
    private static final Path DATA = FOLDER.resolve("journal");

    @Override
    public Map<String, String> getConfigOverrides() {
        try {
            if (Files.exists(FOLDER)) {
                try (var files = Files.walk(FOLDER)) {
                    for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                        Files.delete(file);
                    }
                }
            }
            Files.createDirectories(DATA);
            record();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Map.of(
                // A replay acts in cycles, and the other tests have one a day.
                "genv.enforcer.interval", INTERVAL.toSeconds() + "s",
                "genv.enforcer.data-dir", DATA.toString(),
                "genv.enforcer.state-dir", FOLDER.resolve("genv").toString(),
                "genv.enforcer.nvidia-smi", FOLDER.resolve("bin/nvidia-smi").toString());
    }

    private static void record() {
        var folder = new Database.Config(Optional.of(DATA), 64 << 20);
        try (var past = new RecordedPast(new Database(folder), FIRST)) {
            for (var cycle = 0; cycle < CYCLES; cycle++) {
                past.cycle(node(cycle >= CYCLES / 2));
            }
        }
    }

    private static Snapshot node(boolean isSecondHalf) {
        var node = host("gpu-1")
                .devices(4)
                .with(
                        env("1").attachedAt("20/11/2026 09:00:00", 0),
                        env("2").attachedAt("20/11/2026 10:00:00", 1),
                        env("9").user(HOSTILE).uid(1009).attached(3))
                .with(
                        process(11).inEnvironment("1").uses(0, "100mi"),
                        process(12).inEnvironment("2").uses(1, "100mi"));
        if (isSecondHalf) {
            node.with(env("3").attachedAt("20/11/2026 11:00:00", 2))
                    .with(
                            process(13)
                                    .startedLaterBy(AFTER_ITS_ENVIRONMENT)
                                    .inEnvironment("3")
                                    .uses(2, "100mi"),
                            process(21).uid(1234).uses(3, "100mi"),
                            process(22).uid(1234).uses(3, "100mi"));
        }
        return node.snapshot();
    }
}
