package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.remote.Connection.CommandResult;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ThreadsTest {
    private static final int HOSTS = 200;

    @TempDir
    Path directory;

    @Test
    void manyConnectionsNeedNoPlatformThreads() throws Exception {
        try (var fleet = new TestFleet(directory)) {
            var server = fleet.server("0.0.0.0");
            var hosts = IntStream.rangeClosed(1, HOSTS)
                    .mapToObj(i -> "127.0.1.%d:%d".formatted(i, server.port()))
                    .toList();
            var access = fleet.access(hosts.stream()
                    .map(each -> "[%s %s\n".formatted(each.replace(":", "]:"), server.hostKey()))
                    .toArray(String[]::new));
            run(fleet.connect(access, hosts.getFirst()));
            var before = platformThreads();

            var connections =
                    hosts.stream().map(each -> fleet.connect(access, each)).toList();
            try (var each = Executors.newVirtualThreadPerTaskExecutor()) {
                var tasks = new ArrayList<Callable<CommandResult>>();
                connections.forEach(connection -> tasks.add(() -> run(connection)));
                for (var done : each.invokeAll(tasks)) {
                    assertThat(done.get().exitCode()).isZero();
                }
            }

            assertThat(server.activeConnections()).isEqualTo(HOSTS + 1);
            await("threads of the platform end that the tests before left behind")
                    .untilAsserted(() -> assertThat(platformThreads() - before).isLessThan(HOSTS / 10));
        }
    }

    private static CommandResult run(CommandConnection connection) throws Exception {
        return connection.run(TestFleet.request("true"));
    }

    /** Virtual threads do not count. */
    private static int platformThreads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }
}
