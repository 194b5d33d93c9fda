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
import java.util.regex.Pattern;

/**
 * What a steady cycle on a node costs, with everything that the program does between two cycles: the CPU time of the program itself and
 * of its child processes, and its resident memory. All programs observe the same node at the same time, each on one core. After each
 * round they exchange the cores.
 *
 * <p>{@code -Dservices} names packaged services, {@code -Doptions} further options of their JVM, separated by spaces. {@code -Dgenv}
 * names a source tree of genv whose own daemon is measured too, and {@code -Dnodes} the sizes of nodes such as {@code 8x16x32}: devices,
 * environments, processes. {@code -Dinterval} is in seconds. {@code -Dwarmup}, {@code -Dmeasured} (cycles) and {@code -Drounds} say how long.
 */
public final class NodeCostBenchmark {
    private static final Duration INTERVAL = Duration.ofSeconds(Integer.getInteger("interval", 1));
    private static final Duration WARM_UP = INTERVAL.multipliedBy(Integer.getInteger("warmup", 300));
    private static final Duration MEASURED = INTERVAL.multipliedBy(Integer.getInteger("measured", 100));
    private static final String GENV = "genv enforce";
    private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+([0-9]+) kB");
    private static final int KIBIBYTES_OF_MEBIBYTE = 1024;
    private static final int ROUNDS = Integer.getInteger("rounds", 2);

    private NodeCostBenchmark() {}

    /** A program that is measured, such as a version of the service. */
    private record Program(String name, List<String> command, Map<String, String> settings) {}

    /** A program that runs, and the file that it writes to. */
    private record Running(Program program, Process process, Path out) {}

    /** What a program has used until a moment, and its cycles until then. */
    private record Used(ProcessCpu cpu, long cycles) {}

    /**
     * What a cycle costs.
     *
     * @param own CPU time in milliseconds
     * @param children of its child processes, in milliseconds
     * @param memory resident after the last cycle, in MiB
     * @param load the machine's load average of the last minute of the measurement
     */
    private record Cost(double own, double children, double memory, double load) {}

    /** Runs the benchmark and prints a table. */
    public static void main(String... arguments) throws Exception {
        System.out.println("| node | program | its own CPU for a cycle | CPU of its children | both | memory | load |");
        System.out.println("| --- | --- | --- | --- | --- | --- | --- |");
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
            var ofRound = costs(node, programs, round);
            for (var i = 0; i < programs.size(); i++) {
                costs.get(i).add(ofRound.get(i));
            }
        }
        for (var i = 0; i < programs.size(); i++) {
            var own = average(costs.get(i), Cost::own);
            var children = average(costs.get(i), Cost::children);
            System.out.printf(
                    "| %s | %s | %.2f ms | %.2f ms | %.2f ms | %.0f MiB | %.1f |%n",
                    size,
                    programs.get(i).name,
                    own,
                    children,
                    own + children,
                    average(costs.get(i), Cost::memory),
                    average(costs.get(i), Cost::load));
        }
    }

    private static double average(List<Cost> costs, ToDoubleFunction<Cost> value) {
        return costs.stream().mapToDouble(value).average().orElseThrow();
    }

    private static List<Program> programs(CostNode node) throws IOException {
        var programs = new ArrayList<Program>();
        for (var jar : System.getProperty("services", "target/quarkus-app/quarkus-run.jar")
                .split(",", -1)) {
            programs.add(new Program(jar, service(jar), node.settings(INTERVAL)));
        }
        var genv = System.getProperty("genv", "");
        if (!genv.isEmpty()) {
            var interval = Long.toString(INTERVAL.toSeconds());
            var command = List.of(
                    "/usr/bin/python3", "-m", "genv.cli", "enforce", "--interval", interval, "--non-env-processes");
            programs.add(new Program(GENV, command, node.genv(Path.of(genv))));
        }
        return programs;
    }

    /** The command of the image on a node. It uses the AOT cache of the image only if the options name one. */
    private static List<String> service(String jar) throws IOException {
        var command = new ArrayList<String>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(Node.imageFlags());
        Pattern.compile(" ")
                .splitAsStream(System.getProperty("options", ""))
                .filter(option -> !option.isEmpty())
                .forEach(command::add);
        command.addAll(List.of("-jar", Path.of(jar).toAbsolutePath().toString()));
        return command;
    }

    /** Runs all programs at once, and returns the costs in their order. */
    private static List<Cost> costs(CostNode node, List<Program> programs, int round)
            throws IOException, InterruptedException {
        var running = new ArrayList<Running>();
        try {
            for (var i = 0; i < programs.size(); i++) {
                var core = (i + round) % Runtime.getRuntime().availableProcessors();
                running.add(started(node, programs.get(i), core));
            }
            Thread.sleep(WARM_UP);
            var before = new ArrayList<Used>();
            for (var program : running) {
                before.add(used(node, program));
            }
            Thread.sleep(MEASURED);
            var costs = new ArrayList<Cost>();
            for (var i = 0; i < programs.size(); i++) {
                costs.add(cost(running.get(i), before.get(i), used(node, running.get(i))));
            }
            return costs;
        } finally {
            for (var program : running) {
                program.process.destroy();
                program.process.waitFor();
            }
        }
    }

    private static Running started(CostNode node, Program program, int core) throws IOException {
        var out = Files.createTempFile(node.folder(), "out", "");
        var command = new ArrayList<>(List.of("taskset", "-c", Integer.toString(core)));
        command.addAll(program.command);
        var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("GENV_") || name.startsWith("QUARKUS_"));
        builder.environment().putAll(program.settings);
        return new Running(program, builder.start(), out);
    }

    private static Used used(CostNode node, Running running) throws IOException, InterruptedException {
        return new Used(ProcessCpu.of(running.process.pid()), cycles(node, running));
    }

    private static Cost cost(Running running, Used before, Used after) throws IOException {
        var cycles = after.cycles - before.cycles;
        if (cycles == 0 || !running.process.isAlive()) {
            throw new IOException(running.program.name + " makes no cycles: " + Files.readString(running.out));
        }
        var cpu = after.cpu.minus(before.cpu);
        return new Cost(
                cpu.own() / ProcessCpu.TICKS_PER_MILLISECOND / cycles,
                cpu.children() / ProcessCpu.TICKS_PER_MILLISECOND / cycles,
                residentMebibytes(running.process.pid()),
                ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    }

    private static double residentMebibytes(long pid) throws IOException {
        var match = RESIDENT.matcher(Files.readString(Path.of("/proc", Long.toString(pid), "status")));
        if (!match.find()) {
            throw new IOException("process " + pid + " has no resident memory");
        }
        return Double.parseDouble(match.group(1)) / KIBIBYTES_OF_MEBIBYTE;
    }

    /** genv's daemon queries the processes once a cycle. */
    private static long cycles(CostNode node, Running running) throws IOException, InterruptedException {
        return running.program.name.equals(GENV)
                ? node.gpusOfGenv().calls()
                : ServiceCycles.of(running.out).count();
    }
}
