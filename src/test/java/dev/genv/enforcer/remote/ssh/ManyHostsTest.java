package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.RemoteFleet;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import dev.genv.enforcer.testsupport.ssh.MinaFleet;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Cycles over many machines, of which some hang. */
class ManyHostsTest {
    private static final int HOSTS = 40;
    private static final int HANGING = 8;
    /** Long enough for all logins on a busy test machine. */
    private static final Duration LONG_TIMEOUT = HANG;

    /** The timeout with machines that hang. */
    private static final Duration SHORT_TIMEOUT = Duration.ofMillis(300);

    private final MinaFleet machines = new MinaFleet(HOSTS, (host, input) -> "host " + host + " " + input);
    private final AtomicLong nanos = new AtomicLong();
    private final RemoteFleet fleet;
    private final Enforcer enforcer;
    private volatile Set<String> hanging = Set.of();

    ManyHostsTest(@TempDir Path folder) throws IOException {
        var key = ServerTest.ClientKey.create(folder, "id", null);
        var settings = new SshSettings(
                null, key.file(), null, null, null, machines.knownHosts(folder.resolve("known_hosts")), LONG_TIMEOUT);
        var access = new SshAccess(settings, InetAddress::getAllByName, nanos::get, () -> 0);
        var addresses = machines.hosts().stream().map(HostAddress::parse).toList();
        fleet = new RemoteFleet(
                addresses,
                null,
                access::connection,
                (name, connection) ->
                        new EchoHost(name, connection, () -> hanging.contains(name) ? SHORT_TIMEOUT : LONG_TIMEOUT));
        enforcer = EnforcerFactory.create(
                EnforcerConfigBuilder.enforcerConfig(fleet)
                        .remote(true)
                        .observationTimeout(LONG_TIMEOUT)
                        .build(),
                NoStore.records(new ViolationRegistry(10)),
                Ticker.ofSystem(),
                List.of());
    }

    @AfterEach
    void close() {
        enforcer.stop();
        fleet.close();
        machines.close();
    }

    @Test
    void usesOneConnectionAndNoPlatformThreadPerMachine() {
        var before = platformThreads();
        for (var cycle = 1; cycle <= 5; cycle++) {
            assertThat(reachedHosts(enforcer.runCycle().orElseThrow())).hasSize(HOSTS);
        }

        assertThat(machines.connections()).isEqualTo(HOSTS);
        assertThat(machines.commands()).isEqualTo(5 * HOSTS);
        await().untilAsserted(() -> assertThat(platformThreads()).isLessThan(before + HOSTS));
    }

    @Test
    void hangingMachinesDoNotDelayOthersOrLeakThreads() {
        assertThat(reachedHosts(enforcer.runCycle().orElseThrow())).hasSize(HOSTS);
        var numbers = IntStream.range(0, HANGING)
                .map(each -> each * HOSTS / HANGING)
                .boxed()
                .collect(Collectors.toSet());
        hanging = numbers.stream()
                .map(number -> HostAddress.parse(machines.hosts().get(number)).toString())
                .collect(Collectors.toSet());
        machines.hang(numbers);

        var before = platformThreads();
        for (var cycle = 1; cycle <= 8; cycle++) {
            nanos.addAndGet(Duration.ofMinutes(2).toNanos()); // the pauses of all machines are over
            assertThat(reachedHosts(enforcer.runCycle().orElseThrow())).hasSize(HOSTS - HANGING);
        }

        assertThat(machines.hangingCommands())
                .as("they are asked again and again")
                .isGreaterThan(HANGING);
        await("a host has no thread of the platform, be it as it may")
                .untilAsserted(() -> assertThat(platformThreads()).isLessThan(before + machines.hangingCommands()));

        hanging = Set.of();
        machines.hang(Set.of());
        await().until(() -> {
            nanos.addAndGet(Duration.ofMinutes(2).toNanos());
            return reachedHosts(enforcer.runCycle().orElseThrow()).size() == HOSTS;
        });
    }

    /** Threads that wait for another resource end after some time; threads of hanging machines would not. */
    private static int platformThreads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }

    private static List<String> reachedHosts(CycleReport report) {
        return report.fleet().snapshots().stream()
                .filter(Snapshot::isReached)
                .map(Snapshot::host)
                .toList();
    }

    /** Requests an echo. */
    private record EchoHost(String name, Connection connection, Supplier<Duration> timeout) implements Host {
        @Override
        public Snapshot observe(Set<ProcessId> verified) throws UnreachableException, InterruptedException {
            var answer = connection.request(ServerTest.request("echo", name, timeout.get(), 1 << 10));
            if (answer.interruption() != null) {
                throw answer.interruption();
            }
            if (!answer.output().endsWith(" " + name)) {
                throw new UnreachableException(ProblemCode.ANSWER_UNREADABLE, answer.output());
            }
            return new FakeHost(HostBuilder.host(name)).observe(verified);
        }

        @Override
        public void execute(List<Action> actions, BiConsumer<Action, Result> done) {
            throw new UnsupportedOperationException();
        }
    }
}
