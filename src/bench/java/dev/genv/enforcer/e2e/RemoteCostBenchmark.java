package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.CostNode.Size;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.TestCgroup;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;

/**
 * The CPU time of one cycle of one machine over SSH, with every rule of genv's daemon in enforce mode: that of the client with its
 * child processes, and that of the machine with its sshd, sudo and agent, as control groups of version 2 count it. All programs
 * observe the same machines in turn.
 *
 * <p>{@code -Dservices} names packaged services, and {@code -Dgenv} a source tree of genv whose {@code genv remote enforce} is
 * measured too. {@code -Dhosts}, {@code -Dprocesses} (of each machine) and {@code -Dmode} say what is observed; {@code -Dinterval}
 * (seconds), {@code -Dwarmup-cycles}, {@code -Dcycles} and {@code -Drounds} say how long.
 */
public final class RemoteCostBenchmark {
    private static final int HOSTS = Integer.getInteger("hosts", 20);
    private static final Size SIZE = new Size(8, 16, Integer.getInteger("processes", 32));
    private static final String MODE = System.getProperty("mode", "enforce");
    private static final int INTERVAL = Integer.getInteger("interval", 5);
    private static final int WARM_UP_CYCLES = Integer.getInteger("warmup-cycles", 10);
    private static final int CYCLES = Integer.getInteger("cycles", 15);
    private static final int ROUNDS = Integer.getInteger("rounds", 2);

    private static final double MICROSECONDS_PER_MILLISECOND = 1000;

    private RemoteCostBenchmark() {}

    /** A machine, and its nvidia-smi. */
    private record Host(RealSshd sshd, CheapGpus gpus) {}

    /** A program that is measured, such as a version of the service. */
    private record Program(String name, List<String> command, Map<String, String> settings) {}

    /**
     * What a cycle costs for each host.
     *
     * @param client CPU time in milliseconds
     * @param server CPU time in milliseconds
     * @param load the machine's load average of the last minute of the measurement
     */
    private record Cost(double client, double server, double load) {}

    /** Runs the benchmark and prints a table. */
    public static void main(String... arguments) throws Exception {
        Awaitility.setDefaultTimeout(Duration.ofMinutes(20));
        try (var node = new CostNode(SIZE);
                var servers = TestCgroup.create();
                var network = new RealHosts(node.folder().resolve("hosts"))) {
            var hosts = new ArrayList<Host>();
            for (var i = 0; i < HOSTS; i++) {
                hosts.add(prepared(network.start("gpu-" + i), node, servers));
            }
            var programs = programs(node, network, hosts);
            var costs = new ArrayList<List<Cost>>();
            programs.forEach(_ -> costs.add(new ArrayList<>()));
            for (var round = 0; round < ROUNDS; round++) {
                for (var i = 0; i < programs.size(); i++) {
                    var which = round % 2 == 0 ? i : programs.size() - 1 - i;
                    costs.get(which).add(measured(node, hosts, servers, programs.get(which)));
                }
            }
            print(programs, costs);
        }
    }

    private static Host prepared(RealSshd machine, CostNode node, TestCgroup servers)
            throws IOException, InterruptedException {
        for (var process : machine.processes()) {
            add(servers, process.pid());
        }
        machine.sudoers(RealSshd.ADMIN + " ALL=(root) NOPASSWD: ALL");
        var folder = machine.gpus().path().getParent();
        var gpus = new CheapGpus(folder, SIZE.devices());
        node.describe(gpus, machine.state());
        var genv = System.getProperty("genv", "");
        if (!genv.isEmpty()) {
            // As pip installs it.
            Programs.install(folder.resolve("genv"), """
                #!/usr/bin/python3
                import sys
                sys.path.insert(0, "%s")
                from genv.cli.__main__ import main
                sys.exit(main())
                """.formatted(genv));
        }
        return new Host(machine, gpus);
    }

    private static List<Program> programs(CostNode node, RealHosts network, List<Host> hosts) throws IOException {
        var programs = new ArrayList<Program>();
        for (var jar : System.getProperty("services", "target/quarkus-app/quarkus-run.jar")
                .split(",", -1)) {
            if (!jar.isEmpty()) {
                programs.add(new Program(jar, service(jar), settings(network, hosts)));
            }
        }
        var genv = System.getProperty("genv", "");
        if (!genv.isEmpty()) {
            programs.add(new Program("genv remote enforce", genv(node, network, hosts), Map.of("PYTHONPATH", genv)));
        }
        return programs;
    }

    private static List<String> service(String jar) {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-Xmx192m",
                "--enable-native-access=ALL-UNNAMED",
                "-jar",
                Path.of(jar).toAbsolutePath().toString());
    }

    private static Map<String, String> settings(RealHosts network, List<Host> hosts) {
        return Map.ofEntries(
                Map.entry("GENV_ENFORCER_MODE", MODE),
                Map.entry("GENV_ENFORCER_NON_ENV_PROCESSES", MODE),
                Map.entry("GENV_ENFORCER_INTERVAL", INTERVAL + "s"),
                Map.entry("GENV_ENFORCER_REMOTE_USERNAME", RealSshd.ADMIN),
                Map.entry(
                        "GENV_ENFORCER_REMOTE_IDENTITY_FILE", network.identity().toString()),
                Map.entry(
                        "GENV_ENFORCER_REMOTE_KNOWN_HOSTS", network.knownHosts().toString()),
                Map.entry(
                        "GENV_ENFORCER_REMOTE_HOSTS",
                        hosts.stream().map(host -> host.sshd.target()).collect(Collectors.joining(","))),
                Map.entry("GENV_ENFORCER_REQUIRE_HOST_PID", "false"),
                Map.entry("QUARKUS_HTTP_PORT", "0"),
                Map.entry("QUARKUS_MANAGEMENT_PORT", "0"));
    }

    /** genv's client runs {@code ssh}, which takes ports and keys from the configuration of the machine that it sees. */
    private static List<String> genv(CostNode node, RealHosts network, List<Host> hosts) throws IOException {
        var config = new StringBuilder();
        var names = new ArrayList<String>();
        for (var host : hosts) {
            var target = host.sshd.target().split(":", -1);
            names.add(target[0]);
            config.append("Host %s\n  Port %s\n".formatted(target[0], target[1]));
        }
        config.append("Host *\n  IdentityFile %s\n  UserKnownHostsFile %s\n  BatchMode yes\n"
                .formatted(network.identity(), network.knownHosts()));
        var file = Files.writeString(node.folder().resolve("ssh_config"), config);
        var command = new ArrayList<>(List.of("unshare", "--mount", "sh", "-ec"));
        command.addAll(List.of("mount --bind \"$0\" /etc/ssh/ssh_config; exec \"$@\"", file.toString()));
        command.addAll(List.of("/usr/bin/python3", "-m", "genv.cli", "remote", "-H", String.join(",", names)));
        command.addAll(List.of("-l", RealSshd.ADMIN, "enforce", "--interval", Integer.toString(INTERVAL)));
        command.add("--non-env-processes");
        return command;
    }

    private static Cost measured(CostNode node, List<Host> hosts, TestCgroup servers, Program program)
            throws Exception {
        var out = Files.createTempFile(node.folder(), "out", "");
        var builder =
                new ProcessBuilder(program.command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("GENV_") || name.startsWith("QUARKUS_"));
        builder.environment().putAll(program.settings);
        try (var clients = TestCgroup.create()) {
            var process = builder.start();
            try {
                add(clients, process.pid());
                var first = awaitQueries(process, hosts, queries(hosts) + WARM_UP_CYCLES * hosts.size());
                var client = milliseconds(clients);
                var server = milliseconds(servers);
                var cycles = awaitQueries(process, hosts, first + CYCLES * hosts.size()) - first;
                return new Cost(
                        (milliseconds(clients) - client) / cycles,
                        (milliseconds(servers) - server) / cycles,
                        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
            } finally {
                process.destroy();
            }
        } catch (RuntimeException e) {
            throw new IOException(program.name + " makes no cycles: " + Files.readString(out), e);
        }
    }

    /** Waits until so many queries for processes were made, and returns their number. Each program makes one in a cycle of a host. */
    private static long awaitQueries(Process program, List<Host> hosts, long count) throws IOException {
        await().pollInterval(Duration.ofMillis(100)).until(() -> queries(hosts) >= count || !program.isAlive());
        if (!program.isAlive()) {
            throw new IllegalStateException("it has ended");
        }
        return queries(hosts);
    }

    /** Adds a process, and with it the children that it starts from then on. */
    private static void add(TestCgroup cgroup, long pid) throws IOException {
        Files.writeString(cgroup.directory().resolve("cgroup.procs"), Long.toString(pid));
    }

    /** Returns the CPU time of all processes that were ever in it. */
    private static double milliseconds(TestCgroup cgroup) throws IOException {
        var first = Files.readAllLines(cgroup.directory().resolve("cpu.stat")).getFirst();
        return Long.parseLong(first.replace("usage_usec ", "")) / MICROSECONDS_PER_MILLISECOND;
    }

    private static long queries(List<Host> hosts) throws IOException {
        var count = 0L;
        for (var host : hosts) {
            count += host.gpus.calls();
        }
        return count;
    }

    private static void print(List<Program> programs, List<List<Cost>> costs) {
        System.out.println("| program | client CPU for a host and cycle | server CPU for a host and cycle | load |");
        System.out.println("| --- | --- | --- | --- |");
        for (var i = 0; i < programs.size(); i++) {
            System.out.printf(
                    "| %s | %.1f ms | %.1f ms | %.1f |%n",
                    programs.get(i).name,
                    average(costs.get(i), Cost::client),
                    average(costs.get(i), Cost::server),
                    average(costs.get(i), Cost::load));
        }
    }

    private static double average(List<Cost> costs, ToDoubleFunction<Cost> value) {
        return costs.stream().mapToDouble(value).average().orElseThrow();
    }
}
