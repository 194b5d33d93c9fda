package dev.genv.enforcer.api.connection;

import static dev.genv.enforcer.api.connection.ClientConnection.HEAD_TIMEOUT;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** With an embedded channel, whose clock does not advance. */
class ClientConnectionTest {
    private final EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
    private final ClientConnection connection;

    ClientConnectionTest() {
        channel.freezeTime();
        connection = new ClientConnection(channel, "a", channel.eventLoop());
    }

    @Test
    void closesWhenNoHeadArrivesInTime() {
        advanceTime(HEAD_TIMEOUT.toMillis() - 1);
        assertThat(channel.isOpen()).isTrue();

        advanceTime(1);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void doesNotLimitTheTimeOfARequest() {
        connection.beginRequest();

        advanceTime(100 * HEAD_TIMEOUT.toMillis());

        assertThat(connection.isIdle()).isFalse();
        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void closesWhenNoFurtherHeadArrivesAfterAnAnswer() {
        connection.beginRequest();
        advanceTime(HEAD_TIMEOUT.toMillis());
        connection.endRequest();

        advanceTime(HEAD_TIMEOUT.toMillis() - 1);
        assertThat(connection.isIdle()).isTrue();
        assertThat(channel.isOpen()).isTrue();

        advanceTime(1);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void waitsForTheLastOfSeveralRequests() {
        connection.beginRequest();
        connection.beginRequest();
        connection.endRequest();

        advanceTime(HEAD_TIMEOUT.toMillis());

        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void startsNoTimerAfterTheConnectionHasEnded() {
        connection.beginRequest();
        connection.forget();
        connection.endRequest();

        assertThat(channel.hasPendingTasks()).isFalse();
    }

    private void advanceTime(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }
}
