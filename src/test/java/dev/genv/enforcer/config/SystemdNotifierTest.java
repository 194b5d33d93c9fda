package dev.genv.enforcer.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.NotifySocket;
import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.linux.NotifyReceiver;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SystemdNotifierTest {
    private static final CycleSchedule SCHEDULE = new CycleSchedule(Duration.ofSeconds(10), Duration.ofSeconds(80));

    @TempDir
    Path directory;

    /** The slowest cycles take 110 seconds. */
    @ParameterizedTest
    @CsvSource({
        "0,         READY=1",
        "1000000,   READY=1 WATCHDOG_USEC=110000000",
        "110000001, READY=1 WATCHDOG_USEC=110000001",
    })
    void watchdogWaitsForTheSlowestCycles(String watchdog, String ready) throws IOException {
        var socket = directory.resolve("notify").toString();
        try (var receiver = new NotifyReceiver(socket, directory.resolve("messages"))) {
            var manager = new SystemdNotifier(Map.of("NOTIFY_SOCKET", socket, "WATCHDOG_USEC", watchdog), SCHEDULE);
            manager.ready();
            manager.stopping();
            await().until(() -> receiver.messages().size() == 2);
            assertThat(receiver.messages()).isEqualTo(List.of(ready, "STOPPING=1"));
        }
    }

    @Test
    void sendsToAnAbstractName() throws IOException {
        var name = "@genv-enforcer-" + UUID.randomUUID();
        try (var receiver = new NotifyReceiver(name, directory.resolve("messages"))) {
            NotifySocket.send(name, "STATUS=é");
            await().until(() -> receiver.messages().equals(List.of("STATUS=é")));
        }
    }

    @Test
    void missingReceiverIsLoggedAndNothingIsSentWithoutAServiceManager() {
        var socket = directory.resolve("nobody").toString();
        try (var log = LogRecords.of(SystemdNotifier.class.getName())) {
            new SystemdNotifier(Map.of(), SCHEDULE).ready();
            assertThat(log.lines()).isEmpty();
            new SystemdNotifier(Map.of("NOTIFY_SOCKET", socket), SCHEDULE).ready();
            assertThat(log.lines()).singleElement().asString().contains("READY=1", "No such file");
        }
    }

    /** The address of a Unix socket has 108 bytes. */
    @Test
    void nameThatIsTooLongIsRefused() {
        assertThatThrownBy(() -> NotifySocket.send("/".repeat(109), "READY=1"))
                .isInstanceOfSatisfying(
                        Errno.class, e -> assertThat(e.is(Errno.EINVAL)).isTrue());
    }
}
