package dev.genv.enforcer.bench;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
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

/** The time of a decision by the size of the fleet: 8 devices and 16 processes a host, all rules on, and violations on every
 * tenth host. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class DecisionBenchmark {
    private static final int DEVICES = 8;
    private static final int PROCESSES = 16;
    private static final int TROUBLE = 10;
    private static final Policy POLICY = KnownRules.policy(
            Arrays.stream(KnownRules.all()).collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE)),
            new Limits(DEVICES, Map.of()));

    @Param({"1", "10", "100", "1000"})
    int hosts;

    private Fleet fleet;

    @Setup
    public void makeFleet() {
        var snapshots = new ArrayList<Snapshot>();
        for (var number = 0; number < hosts; number++) {
            snapshots.add(snapshot(number));
        }
        fleet = new Fleet(snapshots, true);
    }

    @Benchmark
    public Plan decide() {
        return POLICY.check(fleet, Set.of());
    }

    private static Snapshot snapshot(int number) {
        var host = host("gpu-%04d".formatted(number)).devices(DEVICES);
        for (var device = 0; device < DEVICES; device++) {
            host.with(env("e" + device)
                    .user("user-%d-%d".formatted(number, device % 4))
                    .capacity("8gi")
                    .attached(device));
        }
        var inTrouble = number % TROUBLE == 0;
        for (var pid = 1; pid <= PROCESSES; pid++) {
            var device = pid % DEVICES;
            host.with(process(pid).inEnvironment("e" + device).uses(device, inTrouble ? "5gi" : "3gi"));
        }
        return host.snapshot();
    }
}
