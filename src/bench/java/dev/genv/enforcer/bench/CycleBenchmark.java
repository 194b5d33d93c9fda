package dev.genv.enforcer.bench;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.NoStore;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A whole cycle on a node with 8 devices, 16 environments and 32 real processes that break no rule. The baseline is the fake nvidia-smi, the only child process of a cycle.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class CycleBenchmark {
    private static final int DEVICES = 8;
    private static final int ENVIRONMENTS = 16;
    private static final int PROCESSES = 32;

    private final List<Child> children = new ArrayList<>();
    private Path directory;
    private FakeNvidiaSmi gpus;
    private Enforcer enforcer;

    @Setup(Level.Trial)
    public void makeNode() throws IOException {
        directory = Files.createTempDirectory("genv-bench");
        gpus = new FakeNvidiaSmi(directory.resolve("bin")).gpus(DEVICES);
        var state = new StateFiles(directory.resolve("genv"));
        for (var number = 0; number < PROCESSES; number++) {
            var child = Child.inEnvironment("e" + number % ENVIRONMENTS);
            children.add(child);
            gpus.process(number % DEVICES, child.pid(), "1000");
            state.ownEnv("e" + number % ENVIRONMENTS, "8gi", child.pid());
        }
        for (var device = 0; device < DEVICES; device++) {
            state.device(device, "e" + device, "e" + (device + DEVICES));
        }
        state.write();
        enforcer = EnforcerFactory.create(
                setup(), NoStore.records(new ViolationRegistry(1000)), Ticker.ofSystem(), List.of());
        var first = enforcer.runCycle().orElseThrow();
        if (first.result() != CycleResult.SUCCESS || !first.plan().violations().isEmpty()) {
            throw new IllegalStateException("the node of the benchmark is wrong: " + first);
        }
    }

    private EnforcerConfig setup() {
        var modes =
                Arrays.stream(KnownRules.all()).collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        var node = new NodeBuilder(directory.resolve("genv"), gpus.path()).host();
        return EnforcerConfigBuilder.enforcerConfig(node)
                .rules(modes, new Limits(DEVICES, Map.of()))
                .build();
    }

    @TearDown(Level.Trial)
    public void cleanUp() throws IOException {
        children.forEach(Child::close);
        try (var files = Files.walk(directory)) {
            for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @Benchmark
    public CycleReport wholeCycle() {
        return enforcer.runCycle().orElseThrow();
    }

    @Benchmark
    public int gpuToolAlone() throws IOException, InterruptedException {
        var process = new ProcessBuilder(
                        gpus.path().toString(),
                        "--query-compute-apps=gpu_uuid,pid,used_gpu_memory",
                        "--format=csv,noheader,nounits")
                .start();
        var bytes = process.getInputStream().readAllBytes();
        return bytes.length + process.waitFor();
    }
}
