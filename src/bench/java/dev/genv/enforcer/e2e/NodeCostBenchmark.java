package dev.genv.enforcer.e2e;

import dev.genv.enforcer.e2e.CostNode.Size;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * The CPU time of a steady cycle on a node, with everything that the program does in the second between two cycles: that of the
 * program itself, and that of its child processes. All programs observe the same node in turn, over the same nvidia-smi.
 *
 * <p>{@code -Dservices} names packaged services. {@code -Dgenv} names a source tree of genv whose own daemon is measured too,
 * and {@code -Dnodes} the sizes of nodes such as {@code 8x16x32}: devices, environments, processes. {@code -Dwarmup}, {@code -Dmeasured} (seconds) and {@code -Drounds} say how long.
 */
public final class NodeCostBenchmark {
    private static final Duration WARM_UP = Duration.ofSeconds(Integer.getInteger("warmup", 60));
    private static final Duration MEASURED = Duration.ofSeconds(Integer.getInteger("measured", 60));
    private static final String GENV = "genv enforce";
    private static final int ROUNDS = Integer.getInteger("rounds", 2);

    private NodeCostBenchmark() {}

    /** A program that is measured, such as a version of the service. */
    private record Program(String name, List<String> command, Map<String, String> settings) {}

    /**
     * What a cycle costs.
     *
     * @param own CPU time in milliseconds
     * @param children of its child processes, in milliseconds
     * @param load the machine's load average of the last minute of the measurement
     */
    private record Cost(double own, double children, double load) {}

    /** Runs the benchmark and prints a table. */
    public static void main(String... arguments) throws Exception {
        System.out.println("| node | program | its own CPU for a cycle | CPU of its children | both | load |");
        System.out.println("| --- | --- | --- | --- | --- | --- |");
        for (var size : System.getProperty("nodes", "8x16x32").split(",", -1)) {
            try (var node = new CostNode(Size.parse(size))) {
                measure(size, node);
            }
        }
    }

    private static void measure(String size, CostNode node) throws Exception {
        var programs = programs(node);
        var costs = new ArrayList<List<Cost>>();
        programs.forEach(_ -> costs.add(new ArrayList<>()));
        for (var round = 0; round < ROUNDS; round++) {
            for (var i = 0; i < programs.size(); i++) {
                var which = round % 2 == 0 ? i : programs.size() - 1 - i;
                costs.get(which).add(measured(node, programs.get(which)));
            }
        }
        for (var i = 0; i < programs.size(); i++) {
            var own = average(costs.get(i), Cost::own);
            var children = average(costs.get(i), Cost::children);
            var load = average(costs.get(i), Cost::load);
            System.out.printf(
                    "| %s | %s | %.2f ms | %.2f ms | %.2f ms | %.1f |%n",
                    size, programs.get(i).name, own, children, own + children, load);
        }
    }

    private static double average(List<Cost> costs, ToDoubleFunction<Cost> value) {
        return costs.stream().mapToDouble(value).average().orElseThrow();
    }

    private static List<Program> programs(CostNode node) throws IOException {
        var programs = new ArrayList<Program>();
        for (var jar : System.getProperty("services", "target/quarkus-app/quarkus-run.jar")
                .split(",", -1)) {
            programs.add(new Program(jar, service(jar), node.settings()));
        }
        var genv = System.getProperty("genv", "");
        if (!genv.isEmpty()) {
            var command =
                    List.of("/usr/bin/python3", "-m", "genv.cli", "enforce", "--interval", "1", "--non-env-processes");
            programs.add(new Program(GENV, command, node.genv(Path.of(genv))));
        }
        return programs;
    }

    /** The command of the image on a node, without its AOT cache. */
    private static List<String> service(String jar) throws IOException {
        var command = new ArrayList<String>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(Node.imageFlags());
        command.addAll(List.of("-jar", Path.of(jar).toAbsolutePath().toString()));
        return command;
    }

    private static Cost measured(CostNode node, Program program) throws IOException, InterruptedException {
        var out = Files.createTempFile(node.folder(), "out", "");
        var builder =
                new ProcessBuilder(program.command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("GENV_") || name.startsWith("QUARKUS_"));
        builder.environment().putAll(program.settings);
        var process = builder.start();
        try {
            Thread.sleep(WARM_UP);
            var cyclesBefore = cycles(node, program, out);
            var before = ProcessCpu.of(process.pid());
            Thread.sleep(MEASURED);
            var cost = ProcessCpu.of(process.pid()).minus(before);
            var cycles = cycles(node, program, out) - cyclesBefore;
            if (cycles == 0 || !process.isAlive()) {
                throw new IOException(program.name + " makes no cycles: " + Files.readString(out));
            }
            return new Cost(
                    cost.own() / ProcessCpu.TICKS_PER_MILLISECOND / cycles,
                    cost.children() / ProcessCpu.TICKS_PER_MILLISECOND / cycles,
                    ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
        } finally {
            process.destroy();
            process.waitFor();
        }
    }

    /** genv's daemon queries the processes once a cycle. */
    private static long cycles(CostNode node, Program program, Path out) throws IOException, InterruptedException {
        return program.name.equals(GENV)
                ? node.gpus().calls()
                : ServiceCycles.of(out).count();
    }
}
