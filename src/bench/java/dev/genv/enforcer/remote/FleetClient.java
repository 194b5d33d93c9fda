package dev.genv.enforcer.remote;

import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.KeyPair;
import com.sun.management.OperatingSystemMXBean;
import dev.genv.enforcer.enforcement.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.HostReport;
import dev.genv.enforcer.enforcement.Journal;
import dev.genv.enforcer.enforcement.ServiceMode;
import dev.genv.enforcer.enforcement.Ticker;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.remote.shell.ShellAgent;
import dev.genv.enforcer.remote.ssh.SshAccess;
import dev.genv.enforcer.remote.ssh.SshSettings;
import dev.genv.enforcer.testsupport.SetupBuilder;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The client of the {@link FleetBenchmark}, in a JVM of its own. */
public final class FleetClient {
    private static final int LOOKS_TO_WARM_UP = 4000;
    private static final int LOOKS_TO_MEASURE = 4000;
    private static final int CONNECTIONS_TO_MEASURE = 1000;
    private static final int CYCLES_OF_THE_HANGING_FLEET = 200;
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final List<HostAddress> hosts;
    private final Path folder;

    private FleetClient(Path folder) {
        this.folder = folder;
        this.hosts = new HostFile(folder.resolve("hosts")).current();
    }

    public static void main(String... arguments) throws Exception {
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

    static Agent agent(String stateDirectory, String nvidiaSmi) {
        return ShellAgent.ofOneService(terms(stateDirectory, nvidiaSmi, Duration.ofSeconds(60)))
                .apply("recorded");
    }

    private static Terms terms(String stateDirectory, String nvidiaSmi, Duration timeout) {
        return new Terms(
                stateDirectory,
                Duration.ofSeconds(5),
                nvidiaSmi,
                Duration.ofSeconds(20),
                timeout,
                false,
                false,
                List.of(),
                List.of(),
                false,
                true,
                Duration.ZERO);
    }

    private SshSettings ssh(Duration timeout) {
        return new SshSettings("root", folder.resolve("id"), null, null, folder.resolve("known_hosts"), timeout);
    }

    private Enforcer enforcer(RemoteFleet fleet, Duration timeout) {
        var modes =
                Arrays.stream(RuleName.values()).collect(Collectors.toMap(Function.identity(), _ -> RuleMode.AUDIT));
        var setup = SetupBuilder.setup(fleet)
                .remote(true)
                .rules(modes, new DeviceLimits(1_000_000, Map.of()))
                .mode(ServiceMode.AUDIT)
                .lookTimeout(timeout.multipliedBy(2))
                .actTimeout(timeout)
                .quiet(true)
                .build();
        return new Enforcer(setup, new Journal(1000), Ticker.ofSystem(), List.of());
    }

    private RemoteFleet fleet(Duration timeout) {
        return new RemoteFleet(
                hosts,
                null,
                new SshAccess(ssh(timeout))::connection,
                ShellAgent.ofOneService(terms("/var/empty", "nvidia-smi", timeout)));
    }

    private void cycles() throws Exception {
        var timeout = Duration.ofMinutes(2);
        var empty = heap();
        try (var fleet = fleet(timeout)) {
            var enforcer = enforcer(fleet, timeout);
            for (var looks = 0; looks < LOOKS_TO_WARM_UP; looks += hosts.size()) {
                cycle(enforcer);
            }
            var walls = new ArrayList<Long>();
            var cpu = SYSTEM.getProcessCpuTime();
            for (var looks = 0; looks < LOOKS_TO_MEASURE; looks += hosts.size()) {
                var start = System.nanoTime();
                cycle(enforcer);
                walls.add(System.nanoTime() - start);
            }
            var perLook = (double) (SYSTEM.getProcessCpuTime() - cpu) / walls.size() / hosts.size();
            var threads = ManagementFactory.getThreadMXBean().getThreadCount();
            var perHost = (heap() - empty) / hosts.size();
            var connecting = twoConnections(timeout);
            walls.sort(null);
            result("hosts", "%,d".formatted(hosts.size()));
            result("wall", "%.1f ms".formatted(walls.get(walls.size() / 2) / 1e6));
            result("cpu", "%.2f ms".formatted(perLook / 1e6));
            result("ratio", "1/%.0f".formatted(connecting / perLook));
            result("heap", hosts.size() < 100 ? "–" : "%d KiB".formatted(perHost >> 10));
            result("threads", String.valueOf(threads));
        }
    }

    private void cycle(Enforcer enforcer) {
        var report = enforcer.runCycle().orElseThrow();
        if (report.result() != CycleResult.SUCCESS
                || !report.plan().violations().isEmpty()) {
            throw new IllegalStateException("the fleet of the benchmark is not what it should be: " + report.result()
                    + " "
                    + report.hosts().stream()
                            .filter(host -> !host.isComplete())
                            .limit(3)
                            .map(HostReport::problems)
                            .toList());
        }
    }

    /** The CPU time, in nanoseconds, of opening two connections to a host and asking one thing each. */
    private double twoConnections(Duration timeout) throws Exception {
        var access = new SshAccess(ssh(timeout));
        connect(access, timeout, CONNECTIONS_TO_MEASURE / 2);
        var cpu = SYSTEM.getProcessCpuTime();
        connect(access, timeout, CONNECTIONS_TO_MEASURE);
        return 2.0 * (SYSTEM.getProcessCpuTime() - cpu) / CONNECTIONS_TO_MEASURE;
    }

    private void connect(SshAccess access, Duration timeout, int times) throws Exception {
        var together = Math.min(20, times);
        for (var done = 0; done < times; done += together) {
            var failure = new AtomicReference<@Nullable Exception>();
            var latch = new CountDownLatch(together);
            for (var i = 0; i < together; i++) {
                var host = hosts.get((done + i) % hosts.size());
                Thread.ofVirtual().start(() -> {
                    try (var connection = access.connection(host)) {
                        connection.run(new Request("true", "", timeout, 1 << 20));
                    } catch (Exception e) {
                        failure.set(e);
                    } finally {
                        latch.countDown();
                    }
                });
            }
            latch.await();
            if (failure.get() != null) {
                throw failure.get();
            }
        }
    }

    /** Two hundred cycles, of which nobody waits for the hosts that hang. */
    private void hanging() {
        var timeout = Duration.ofSeconds(5);
        try (var fleet = fleet(timeout)) {
            var enforcer = enforcer(fleet, timeout);
            enforcer.runCycle();
            for (var part = 1; part <= 4; part++) {
                var longest = 0L;
                for (var cycle = 0; cycle < CYCLES_OF_THE_HANGING_FLEET / 4; cycle++) {
                    var start = System.nanoTime();
                    var report = enforcer.runCycle().orElseThrow();
                    longest = Math.max(longest, System.nanoTime() - start);
                    var reached =
                            report.hosts().stream().filter(HostReport::reached).count();
                    if (reached < hosts.size() * 4L / 5) {
                        throw new IllegalStateException("only %d hosts were looked at".formatted(reached));
                    }
                }
                result(
                        "cycles %d to %d".formatted((part - 1) * 50 + 1, part * 50),
                        "%.2f of the deadline | %.1f MiB | %d |"
                                .formatted(
                                        longest
                                                / (double)
                                                        timeout.multipliedBy(2).toNanos(),
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
