package dev.genv.enforcer.api.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ConnectionLimitTest {
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final ClientSlots slots = new ClientSlots(3, 2);
    private final ServerConnections.ConnectionLimit limit = new ServerConnections.ConnectionLimit(4, 3);

    @AfterEach
    void stopTimer() {
        timer.shutdownNow();
    }

    @Test
    void admitsUpToTheTotalOfAllAddresses() {
        limit.admit(connection("a"));
        limit.admit(connection("b"));
        limit.admit(connection("c"));

        assertThat(limit.admit(connection("d"))).isEmpty();
    }

    @Test
    void closesTheOldestIdleConnectionAtTheTotalLimit() {
        var oldest = connection("a");
        limit.admit(oldest);
        limit.admit(connection("b"));
        limit.admit(connection("c"));
        limit.admit(connection("d"));

        assertThat(limit.admit(connection("e"))).containsSame(oldest);
    }

    @Test
    void closesAConnectionOfTheSameAddressAtItsLimit() {
        limit.admit(connection("honest"));
        var oldest = connection("a");
        limit.admit(oldest);
        limit.admit(connection("a"));
        limit.admit(connection("a"));

        assertThat(limit.admit(connection("a"))).containsSame(oldest);
    }

    @Test
    void closesIdleConnectionsBeforeThoseWithARequest() {
        var busy = connection("a");
        var idle = connection("a");
        limit.admit(busy);
        limit.admit(idle);
        limit.admit(connection("a"));
        busy.beginRequest();

        assertThat(limit.admit(connection("a"))).containsSame(idle);
    }

    @Test
    void closesTheOldestConnectionWhenNoneIsIdle() {
        var oldest = connection("a");
        for (var each : new ClientConnection[] {oldest, connection("a"), connection("a")}) {
            limit.admit(each);
            each.beginRequest();
        }

        assertThat(limit.admit(connection("a"))).containsSame(oldest);
    }

    @Test
    void countsNeitherClosedNorSelectedConnections() {
        var first = connection("a");
        var second = connection("a");
        limit.admit(first);
        limit.admit(second);
        limit.admit(connection("a"));
        assertThat(limit.admit(connection("a"))).containsSame(first);

        limit.remove(second);

        assertThat(limit.admit(connection("a"))).isEmpty();
    }

    private ClientConnection connection(String address) {
        return new ClientConnection(new EmbeddedChannel(), address, timer);
    }

    @Test
    void slotsAreBoundedInAllAndForEachAddress() {
        var first = slots.take("a").orElseThrow();
        assertThat(slots.take("a")).isPresent();
        assertThat(slots.take("a")).as("one address cannot take all").isEmpty();
        var last = slots.take("b").orElseThrow();
        assertThat(slots.take("c")).isEmpty();
        assertThat(slots.refused()).isEqualTo(2);

        first.close();
        assertThat(slots.take("b")).isPresent();
        assertThat(slots.take("b")).isEmpty();
        last.close();
        assertThat(slots.take("a")).isPresent();
        assertThat(slots.take("a")).isEmpty();
    }
}
