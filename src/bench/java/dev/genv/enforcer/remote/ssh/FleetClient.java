package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.KeyPair;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ObserverSettings.Needs;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.HostFile;
import dev.genv.enforcer.remote.RemoteFleet;
import dev.genv.enforcer.remote.agent.AgentMachine;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;

/** The client of the {@link FleetBenchmark}, in its own JVM. */
public final class FleetClient {
    /** The heap of the whole client, in bytes. */
    static final String HEAP = "heap";

    private static final int OBSERVATIONS_TO_WARM_UP = 20_000;
    private static final int OBSERVATIONS_TO_MEASURE = 5000;
    private static final Duration MAX_WARM_UP = Duration.ofSeconds(40);
    private static final int PARTS = 4;
    private static final int CYCLES_OF_A_PART = 50;

    private static final Logger LOG = Logger.getLogger("");

    private final List<HostAddress> hosts;
    private final Path folder;

    private FleetClient(Path folder) {
        this.folder = folder;
        this.hosts = new HostFile(folder.resolve("hosts")).current();
    }

    public static void main(String... arguments) throws Exception {
        LOG.setLevel(Level.WARNING); // as in the service, which reads it from its settings
        var client = new FleetClient(Path.of(arguments[0]));
        if (arguments[1].equals("cycles")) {
            client.cycles();
        } else {
            client.hanging();
        }
        System.exit(0);
    }

    static String newIdentity() throws JSchException {
        var bytes = new ByteArrayOutputStream();
        KeyPair.genKeyPair(new JSch(), KeyPair.ECDSA, 256).writePrivateKey(bytes);
        return bytes.toString(StandardCharsets.US_ASCII);
    }

    static Host host(String stateDirectory, String nvidiaSmi, Connection connection) {
        return hosts(stateDirectory, nvidiaSmi, Duration.ofSeconds(60)).apply("recorded", connection);
    }

    private static BiFunction<String, Connection, Host> hosts(
            String stateDirectory, String nvidiaSmi, Duration timeout) {
        var machines = AgentMachine.ofOneService(config(stateDirectory, nvidiaSmi, timeout));
        return (name, connection) -> new ObservedHost(observer(name, stateDirectory), machines.apply(name, connection));
    }

    private static ObserverSettings observer(String name, String stateDirectory) {
        return new ObserverSettings(
                name,
                stateDirectory,
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                new Needs(false, false, true, Advice.LOGIN),
                false,
                Memory.ZERO,
                Duration.ofMinutes(1));
    }

    private static AgentConfig config(String stateDirectory, String nvidiaSmi, Duration timeout) {
        return new AgentConfig(
                stateDirectory,
                Duration.ofSeconds(5),
                nvidiaSmi,
                Duration.ofSeconds(20),
                timeout,
                false,
                observer("", stateDirectory).programs().stream()
                        .map(program -> program.path().toString())
                        .toList(),
                false,
                Duration.ZERO);
    }

    private SshSettings ssh(Duration timeout) {
        return new SshSettings("root", folder.resolve("id"), null, null, null, folder.resolve("known_hosts"), timeout);
    }

    private Enforcer enforcer(RemoteFleet fleet, Duration timeout) {
        var modes = Arrays.stream(KnownRules.all()).collect(Collectors.toMap(Function.identity(), _ -> RuleMode.AUDIT));
        var config = EnforcerConfigBuilder.enforcerConfig(fleet)
                .remote(true)
                .rules(modes, new Limits(1_000_000, Map.of()))
                .mode(ServiceMode.AUDIT)
                .observationTimeout(timeout.multipliedBy(2))
                .actionTimeout(timeout)
                .quiet(true)
                .build();
        return EnforcerFactory.create(
                config, NoStore.records(new ViolationRegistry(1000)), Ticker.ofSystem(), List.of());
    }

    private RemoteFleet fleet(Duration timeout) {
        return fleet(timeout, new SshAccess(ssh(timeout)));
    }

    private RemoteFleet fleet(Duration timeout, SshAccess access) {
        return new RemoteFleet(hosts, null, access::connection, hosts("/var/empty", "nvidia-smi", timeout)::apply);
    }

    private void cycles() throws Exception {
        var timeout = Duration.ofMinutes(2);
        try (var fleet = fleet(timeout)) {
            var enforcer = enforcer(fleet, timeout);
            var begun = System.nanoTime();
            for (var observations = 0;
                    observations < OBSERVATIONS_TO_WARM_UP && System.nanoTime() - begun < MAX_WARM_UP.toNanos();
                    observations += hosts.size()) {
                cycle(enforcer);
            }
            var walls = new ArrayList<Long>();
            var cpu = ClientCpu.nanos();
            for (var observations = 0;
                    observations < Math.min(OBSERVATIONS_TO_MEASURE, 1000 * hosts.size());
                    observations += hosts.size()) {
                var start = System.nanoTime();
                cycle(enforcer);
                walls.add(System.nanoTime() - start);
            }
            var perObservation = (double) (ClientCpu.nanos() - cpu) / walls.size() / hosts.size();
            var threads = ManagementFactory.getThreadMXBean().getThreadCount();
            var heap = heap();
            var cost = new ConnectionCost(hosts, ssh(timeout));
            var connections = cost.twoConnections();
            var runs = cost.twoRunsOfSsh();
            walls.sort(null);
            result("hosts", "%,d".formatted(hosts.size()));
            result("wall", "%.1f ms".formatted(walls.get(walls.size() / 2) / 1e6));
            result("cpu", "%.2f ms".formatted(perObservation / 1e6));
            result("ssh", "1/%.0f".formatted(runs / perObservation));
            result("connections", "1/%.0f".formatted(connections / perObservation));
            result(HEAP, Long.toString(heap));
            result("threads", String.valueOf(threads));
        }
    }

    private void cycle(Enforcer enforcer) {
        var report = enforcer.runCycle().orElseThrow();
        if (report.result() != CycleResult.SUCCESS
                || !report.plan().violations().isEmpty()
                || report.fleet().snapshots().stream()
                        .anyMatch(host -> !host.problems().isEmpty())) {
            throw new IllegalStateException("the fleet of the benchmark is wrong: " + report.result()
                    + " "
                    + report.fleet().snapshots().stream()
                            .filter(host -> !host.isComplete())
                            .limit(3)
                            .map(Snapshot::problems)
                            .toList());
        }
    }

    /** Runs 200 cycles that do not wait for hosts that hang. The back-off is so short that every cycle tries every host. */
    private void hanging() {
        var timeout = Duration.ofSeconds(2);
        var access = new SshAccess(
                ssh(timeout),
                InetAddress::getAllByName,
                () -> System.nanoTime() * 1_000,
                () -> ThreadLocalRandom.current().nextLong());
        var deadline = timeout.multipliedBy(2);
        try (var fleet = fleet(timeout, access)) {
            var enforcer = enforcer(fleet, timeout);
            enforcer.runCycle();
            for (var part = 0; part < PARTS; part++) {
                var took = new ArrayList<Long>();
                for (var cycle = 0; cycle < CYCLES_OF_A_PART; cycle++) {
                    var start = System.nanoTime();
                    var report = enforcer.runCycle().orElseThrow();
                    took.add(System.nanoTime() - start);
                    var reached = report.fleet().snapshots().stream()
                            .filter(Snapshot::isReached)
                            .count();
                    if (reached != hosts.size() * 4L / 5) {
                        throw new IllegalStateException("%d hosts were observed".formatted(reached));
                    }
                }
                took.sort(null);
                result(
                        "%d to %d".formatted(part * CYCLES_OF_A_PART + 1, (part + 1) * CYCLES_OF_A_PART),
                        "%.2f | %.2f | %.1f MiB | %d"
                                .formatted(
                                        took.get(took.size() / 2) / (double) deadline.toNanos(),
                                        took.getLast() / (double) deadline.toNanos(),
                                        heap() / (double) (1 << 20),
                                        ManagementFactory.getThreadMXBean().getThreadCount()));
            }
        }
    }

    private static long heap() {
        for (var i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    private static void result(String name, String value) {
        System.out.println("RESULT " + name + "=" + value);
    }
}
