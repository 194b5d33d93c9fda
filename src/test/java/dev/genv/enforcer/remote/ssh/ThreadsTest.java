package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.KeptExchange;
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
    void manyConnectionsNeedNoThreadsOfThePlatform() throws Exception {
        try (var fleet = new Fleet(directory)) {
            var server = fleet.server("0.0.0.0");
            var hosts = IntStream.rangeClosed(1, HOSTS)
                    .mapToObj(i -> "127.0.1.%d:%d".formatted(i, server.port()))
                    .toList();
            var access = fleet.access(hosts.stream()
                    .map(each -> "[%s %s\n".formatted(each.replace(":", "]:"), server.hostKey()))
                    .toArray(String[]::new));
            run(fleet.connect(access, hosts.getFirst()));
            var before = threads();

            var connections =
                    hosts.stream().map(each -> fleet.connect(access, each)).toList();
            try (var each = Executors.newVirtualThreadPerTaskExecutor()) {
                var tasks = new ArrayList<Callable<Answer>>();
                connections.forEach(connection -> tasks.add(() -> run(connection)));
                for (var done : each.invokeAll(tasks)) {
                    assertThat(done.get().exitCode()).isZero();
                }
            }

            assertThat(server.connected()).isEqualTo(HOSTS + 1);
            await("threads of the platform end that the tests before left behind")
                    .untilAsserted(() -> assertThat(threads() - before).isLessThan(HOSTS / 10));
        }
    }

    private static Answer run(KeptExchange connection) throws Exception {
        return connection.run(Fleet.request("true"));
    }

    /** Virtual ones are not counted. */
    private static int threads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }
}
