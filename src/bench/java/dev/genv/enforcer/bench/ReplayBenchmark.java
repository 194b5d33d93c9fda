package dev.genv.enforcer.bench;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.PictureReader;
import dev.genv.enforcer.recording.RecordedPast;
import dev.genv.enforcer.recording.Replay;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.StoreException;
import dev.genv.enforcer.testsupport.KnownRules;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
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
import org.openjdk.jmh.annotations.TearDown;
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

    private final Database database = new Database(new Database.Config(Optional.empty(), 256 << 20));
    private final RecordedPast past = new RecordedPast(database, Instant.EPOCH);

    @Setup
    public void record() {
        var random = new SplittableRandom(1);
        for (var number = 0; number < CYCLES; number++) {
            var cycle = number;
            past.cycle(IntStream.range(0, hosts)
                    .mapToObj(host -> snapshot("gpu-" + host, cycle, random))
                    .toArray(Snapshot[]::new));
        }
    }

    @TearDown
    public void close() {
        past.close();
    }

    @Benchmark
    public Replay replayedHour() throws StoreException {
        var end = Instant.EPOCH.plus(RecordedPast.INTERVAL.multipliedBy(CYCLES));
        var replay = new Replay(
                new Replay.Config(POLICY, Duration.ofSeconds(30), RecordedPast.INTERVAL, Instant.EPOCH, true));
        new PictureReader(database).read(Instant.EPOCH, end, recorded -> {
            replay.add(recorded);
            return true;
        });
        replay.finish(end, end.toEpochMilli());
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
