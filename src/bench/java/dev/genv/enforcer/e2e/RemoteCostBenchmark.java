package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;

/**
 * The CPU time of one observation of one machine over SSH: that of the service, and that of the machine with its sshd, sudo and
 * agent, from the {@code stat} of all processes of 20 sshds. {@code -Dservices} names packaged services, such as
 * {@code target/quarkus-app/quarkus-run.jar} of two versions: they observe the same machines in turn, twice each.
 */
public final class RemoteCostBenchmark {
    private static final int HOSTS = Integer.getInteger("hosts", 20);
    private static final int WARM_UP_CYCLES = Integer.getInteger("warmup", 10);
    private static final int CYCLES = Integer.getInteger("cycles", 15);
    private static final int ROUNDS = 2;
    private static final int DEVICES = 8;
    private static final int PROCESSES = 4;

    private RemoteCostBenchmark() {}

    /** CPU time in milliseconds for one host and cycle. */
    private record Cost(double client, double server) {}

    /** Runs the benchmark and prints a table. */
    public static void main(String... arguments) throws Exception {
        var jars = System.getProperty("services", "target/quarkus-app/quarkus-run.jar")
                .split(",", -1);
        Awaitility.setDefaultTimeout(Duration.ofMinutes(10));
        var folder = Files.createTempDirectory("genv-remote-cost");
        var jobs = new ArrayList<Process>();
        try (var hosts = new RealHosts(folder.resolve("hosts"))) {
            for (var i = 0; i < PROCESSES; i++) {
                jobs.add(new ProcessBuilder("sleep", "3600").start());
            }
            var machines = new ArrayList<RealSshd>();
            for (var i = 0; i < HOSTS; i++) {
                machines.add(prepared(hosts.start("gpu-" + i), jobs));
            }
            var costs = new ArrayList<List<Cost>>();
            for (var _ : jars) {
                costs.add(new ArrayList<>());
            }
            for (var round = 0; round < ROUNDS; round++) {
                for (var i = 0; i < jars.length; i++) {
                    var which = round % 2 == 0 ? i : jars.length - 1 - i;
                    costs.get(which).add(measured(Path.of(jars[which]), folder, hosts, machines));
                }
            }
            print(jars, costs);
        } finally {
            jobs.forEach(Process::destroyForcibly);
            try (var files = Files.walk(folder)) {
                for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    private static RealSshd prepared(RealSshd machine, List<Process> jobs) throws IOException {
        machine.sudoers(RealSshd.ADMIN + " ALL=(root) NOPASSWD: ALL");
        machine.gpus().gpus(DEVICES);
        for (var job : jobs) {
            machine.gpus().process(0, job.pid(), "1024 MiB");
        }
        var pids = jobs.stream().map(job -> Math.toIntExact(job.pid())).toArray(Integer[]::new);
        var state = machine.state().ownEnv("4711", null, pids);
        for (var device = 0; device < DEVICES; device++) {
            state.device(device, "4711");
        }
        state.write();
        return machine;
    }

    private static Cost measured(Path jar, Path folder, RealHosts hosts, List<RealSshd> machines) throws Exception {
        var out = Files.createTempFile(folder, "out", "");
        var service = started(jar, out, hosts, machines);
        try {
            var cycles = ServiceCycles.of(out);
            awaitCycles(cycles, WARM_UP_CYCLES);
            var first = cycles.count();
            var client = cpu(service.toHandle());
            var server = cpu(machines);
            awaitCycles(cycles, first + CYCLES);
            var observations = (cycles.count() - first) * machines.size();
            return new Cost(
                    (cpu(service.toHandle()) - client) / ProcessCpu.TICKS_PER_MILLISECOND / observations,
                    (cpu(machines) - server) / ProcessCpu.TICKS_PER_MILLISECOND / observations);
        } finally {
            service.destroy();
            service.waitFor();
        }
    }

    private static Process started(Path jar, Path out, RealHosts hosts, List<RealSshd> machines) throws IOException {
        var builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xmx192m",
                        "--enable-native-access=ALL-UNNAMED",
                        "-jar",
                        jar.toAbsolutePath().toString())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile());
        var settings = builder.environment();
        settings.keySet().removeIf(name -> name.startsWith("GENV_") || name.startsWith("QUARKUS_"));
        settings.put("GENV_ENFORCER_MODE", "audit");
        settings.put("GENV_ENFORCER_INTERVAL", "5s");
        settings.put("GENV_ENFORCER_REMOTE_USERNAME", RealSshd.ADMIN);
        settings.put("GENV_ENFORCER_REMOTE_IDENTITY_FILE", hosts.identity().toString());
        settings.put("GENV_ENFORCER_REMOTE_KNOWN_HOSTS", hosts.knownHosts().toString());
        settings.put(
                "GENV_ENFORCER_REMOTE_HOSTS",
                machines.stream().map(RealSshd::target).collect(Collectors.joining(",")));
        settings.put("GENV_ENFORCER_REQUIRE_HOST_PID", "false");
        settings.put("QUARKUS_HTTP_PORT", "0");
        settings.put("QUARKUS_MANAGEMENT_PORT", "0");
        return builder.start();
    }

    private static void awaitCycles(ServiceCycles cycles, int count) {
        await().pollInterval(Duration.ofMillis(500)).until(() -> cycles.count() >= count);
    }

    /** The CPU time of these machines, in clock ticks. A process that has exited counts in the one that collected it. */
    private static long cpu(List<RealSshd> machines) {
        return machines.stream()
                .flatMap(machine -> machine.processes().stream())
                .mapToLong(RemoteCostBenchmark::cpu)
                .sum();
    }

    private static long cpu(ProcessHandle process) {
        return ProcessCpu.of(process.pid()).all();
    }

    private static void print(String[] jars, List<List<Cost>> costs) {
        System.out.println("| service | client CPU for a host and cycle | server CPU for a host and cycle |");
        System.out.println("| --- | --- | --- |");
        for (var i = 0; i < jars.length; i++) {
            var client =
                    costs.get(i).stream().mapToDouble(Cost::client).average().orElse(0);
            var server =
                    costs.get(i).stream().mapToDouble(Cost::server).average().orElse(0);
            System.out.printf("| %s | %.1f ms | %.0f ms |%n", jars[i], client, server);
        }
    }
}
