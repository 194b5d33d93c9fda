package dev.genv.enforcer.bench;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.FleetPlayer;
import dev.genv.enforcer.recording.FleetRecorder;
import dev.genv.enforcer.recording.RecordedLine;
import dev.genv.enforcer.recording.replay.Replay;
import dev.genv.enforcer.testsupport.KnownRules;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The time to replay a recorded hour under a policy with all rules: 8 devices, 16 environments and 32 processes a host, each process
 * is replaced after ten minutes, and no rule is violated.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class ReplayBenchmark {
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final int CYCLES = 360;
    private static final int LIFETIME = 60;
    private static final int DEVICES = 8;
    private static final int ENVIRONMENTS = 16;
    private static final int PROCESSES = 32;
    private static final Policy POLICY = KnownRules.policy(
            Arrays.stream(KnownRules.all()).collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE)),
            new Limits(DEVICES * 1000, Map.of()));

    @Param({"1", "100"})
    int hosts;

    private final List<RecordedLine> lines = new ArrayList<>();

    @Setup
    public void record() {
        var random = new SplittableRandom(1);
        var recorder = new FleetRecorder(INTERVAL);
        for (var number = 0; number < CYCLES; number++) {
            var cycle = number;
            var snapshots = IntStream.range(0, hosts)
                    .mapToObj(host -> snapshot("gpu-" + host, cycle, random))
                    .toList();
            var at = Instant.EPOCH.plus(INTERVAL.multipliedBy(cycle));
            lines.addAll(recorder.record(at, snapshots, 1));
        }
    }

    @Benchmark
    public Replay replayedHour() throws UnreadableException {
        var player = new FleetPlayer();
        var replay = new Replay(POLICY, false, true);
        for (var line : lines) {
            player.apply(line.type(), GenvJson.read(line.json().getBytes(StandardCharsets.US_ASCII)))
                    .ifPresent(replay::check);
        }
        if (!replay.users().isEmpty()) {
            throw new IllegalStateException("the past of the benchmark is wrong: " + replay.users());
        }
        return replay;
    }

    private static Snapshot snapshot(String name, int cycle, SplittableRandom random) {
        var node = host(name).devices(DEVICES);
        for (var number = 0; number < ENVIRONMENTS; number++) {
            node.with(env("6760" + number).capacity("8gi").attached(number % DEVICES));
        }
        for (var number = 0; number < PROCESSES; number++) {
            var job = (cycle + number) / LIFETIME;
            node.with(process(100_000 + number + job * PROCESSES)
                    .startedLaterBy(job)
                    .inEnvironment("6760" + number % ENVIRONMENTS)
                    .uses(number % DEVICES, 2000 + random.nextInt(60) + "mi"));
        }
        return node.snapshot();
    }
}
