package dev.genv.enforcer.bench;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.node.gpu.nvml.NvmlSource;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** A reading of all GPUs through a fake NVML, which costs nearly nothing itself. It includes the way to NVML's thread and back. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class NvmlBenchmark {
    private static final long GIBI = 1 << 30;

    /** Devices and processes on each. */
    @Param({"8x16", "16x256"})
    String size;

    private Path directory;
    private NvmlSource source;

    @Setup(Level.Trial)
    public void makeGpus() throws IOException {
        directory = Files.createTempDirectory("genv-bench");
        var counts = size.split("x", -1);
        var nvml = new FakeNvml(directory).gpus(Integer.parseInt(counts[0])).line("cached");
        for (var gpu = 0; gpu < Integer.parseInt(counts[0]); gpu++) {
            for (var number = 1; number <= Integer.parseInt(counts[1]); number++) {
                nvml.process(gpu, 1000 * gpu + number, GIBI);
            }
        }
        source = new NvmlSource(nvml.path().toString(), Duration.ofMinutes(1));
    }

    @TearDown(Level.Trial)
    public void cleanUp() throws IOException {
        source.close();
        try (var files = Files.walk(directory)) {
            for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @Benchmark
    public NvmlFacts oneReading() throws InterruptedException {
        return source.read();
    }
}
