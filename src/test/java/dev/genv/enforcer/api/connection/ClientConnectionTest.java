package dev.genv.enforcer.api.connection;

import static dev.genv.enforcer.api.connection.ClientConnection.HEAD_TIMEOUT;
import static dev.genv.enforcer.api.connection.ClientConnection.RESPONSE_TIMEOUT;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** With embedded channels, whose clock does not advance: the limits of a connection, and of all connections of a port. */
class ClientConnectionTest {
    private static final String REQUEST = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    private final EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
    private final ResponseBudget budget = new ResponseBudget(300, 200);
    private final ClientConnection connection;
    private final ClientSlots slots = new ClientSlots(3, 2);
    private final ServerConnections.ConnectionLimit limit = new ServerConnections.ConnectionLimit(4, 3);

    ClientConnectionTest() {
        channel.freezeTime();
        connection = new ClientConnection(channel, "a", budget, channel.eventLoop());
    }

    @AfterEach
    void closeChannel() {
        channel.finishAndReleaseAll();
    }

    @Test
    void closesWhenNoHeadArrivesInTime() {
        advanceTime(HEAD_TIMEOUT.toMillis() - 1);
        assertThat(channel.isOpen()).isTrue();

        advanceTime(1);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void closesWhenNoFurtherHeadArrivesAfterTheLastAnswer() {
        connection.beginRequest();
        connection.beginRequest();
        connection.endRequest();
        advanceTime(2 * HEAD_TIMEOUT.toMillis());
        assertThat(connection.isIdle()).isFalse();
        assertThat(channel.isOpen()).isTrue();

        connection.endRequest();
        advanceTime(HEAD_TIMEOUT.toMillis() - 1);
        assertThat(connection.isIdle()).isTrue();
        assertThat(channel.isOpen()).isTrue();
        advanceTime(1);
        assertThat(channel.isOpen()).isFalse();
    }

    /** A second request does not give the first one more time, and has the whole time after it. */
    @Test
    void eachResponseHasTheSameTime() {
        connection.beginRequest();
        advanceTime(RESPONSE_TIMEOUT.toMillis() - 1);
        connection.beginRequest();
        assertThat(channel.isOpen()).isTrue();
        connection.endRequest();
        advanceTime(RESPONSE_TIMEOUT.toMillis() - 1);
        connection.beginRequest();
        assertThat(channel.isOpen()).isTrue();

        advanceTime(1);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void responseEndsWhenTheKernelHasTakenItOver() {
        addCodec();
        send(REQUEST);
        var _ = channel.write(response(10));
        advanceTime(RESPONSE_TIMEOUT.toMillis() - 1);
        assertThat(connection.isIdle()).isFalse();
        assertThat(channel.isOpen()).as("for longer than a head may take").isTrue();

        channel.flush();
        assertThat(connection.isIdle()).isTrue();
        advanceTime(1);
        assertThat(channel.isOpen()).isTrue();
        advanceTime(HEAD_TIMEOUT.toMillis());
        assertThat(channel.isOpen()).isFalse();
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

    @Test
    void closesTheConnectionAboveTheLimitOfRequests() {
        addCodec();
        send(REQUEST.repeat(ClientConnection.MAX_PENDING_REQUESTS));
        assertThat(channel.isOpen()).isTrue();
        send(REQUEST);

        assertThat(requests()).isEqualTo(ClientConnection.MAX_PENDING_REQUESTS);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void countsOnlyUnansweredRequests() {
        addCodec();
        for (var i = 0; i < 3 * ClientConnection.MAX_PENDING_REQUESTS; i++) {
            send(REQUEST);
            answer(HttpResponseStatus.OK);
        }
        assertThat(requests()).isEqualTo(3 * ClientConnection.MAX_PENDING_REQUESTS);
        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void countsAnInterimResponseAsNoAnswer() {
        addCodec();
        for (var i = 0; i <= ClientConnection.MAX_PENDING_REQUESTS; i++) {
            send(REQUEST);
            answer(HttpResponseStatus.CONTINUE);
        }
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void removesTheUpgradeHeader() {
        addCodec();
        send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
        assertThat(channel.<HttpRequest>readInbound().headers().contains("Upgrade"))
                .isFalse();
    }

    @Test
    void passesOnSingleBytesToACodecAddedLaterAndLimitsItsRequests() {
        addDetection();
        for (var letter : REQUEST.split("", -1)) {
            send(letter);
        }
        assertThat(requests()).isEqualTo(1);
        assertThat(channel.isOpen()).isTrue();

        send(REQUEST.repeat(ClientConnection.MAX_PENDING_REQUESTS));
        assertThat(requests()).isEqualTo(ClientConnection.MAX_PENDING_REQUESTS);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void closesAConnectionWithTheHttp2Preface() {
        addDetection();
        for (var letter : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".split("", -1)) {
            send(letter);
        }
        assertThat(channel.isOpen()).isFalse();
    }

    private void send(String text) {
        if (channel.isOpen()) {
            channel.writeInbound(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
        }
    }

    private void answer(HttpResponseStatus status) {
        if (channel.isOpen()) {
            channel.writeOutbound(new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status));
        }
    }

    @Test
    void responseCountsUntilItsClientHasTakenIt() {
        addCodec();
        send(REQUEST);
        var _ = channel.write(response(200));
        assertThat(budget.isUsedUp("a")).isTrue();
        assertThat(budget.isUsedUp("b")).isFalse();

        channel.flush();
        assertThat(budget.isUsedUp("a")).isFalse();
    }

    @Test
    void responseOfAClosedConnectionNoLongerCounts() {
        addCodec();
        send(REQUEST);
        var _ = channel.write(response(300));
        assertThat(budget.isUsedUp("b")).isTrue();

        var _ = channel.close();
        assertThat(budget.isUsedUp("b")).isFalse();
        assertThat(budget.isUsedUp("a")).isFalse();
    }

    private static FullHttpResponse response(int bytes) {
        return new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.buffer().writeZero(bytes));
    }

    @Test
    void budgetIsBoundedInAllAndForEachAddress() {
        budget.add("a", 199);
        assertThat(budget.isUsedUp("a")).isFalse();
        budget.add("a", 1);
        budget.add("b", 0);
        assertThat(budget.isUsedUp("a")).as("one address cannot use up all").isTrue();
        assertThat(budget.isUsedUp("b")).isFalse();
        budget.add("b", 100);
        assertThat(budget.isUsedUp("c")).isTrue();

        budget.add("a", -1);
        assertThat(List.of("a", "b", "c")).noneMatch(budget::isUsedUp);
    }

    private long requests() {
        return channel.inboundMessages().stream()
                .filter(HttpRequest.class::isInstance)
                .count();
    }

    private void addCodec() {
        channel.pipeline().addLast(new HttpRequestDecoder(), new HttpResponseEncoder());
    }

    /** A port that also knows HTTP/2 adds the codec when a byte is not that of its preface. */
    private void addDetection() {
        channel.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            private final StringBuilder begun = new StringBuilder();

            @Override
            public void channelRead(ChannelHandlerContext context, Object message) {
                var bytes = (ByteBuf) message;
                begun.append(bytes.toString(StandardCharsets.US_ASCII));
                bytes.release();
                if (!"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".startsWith(begun.toString())) {
                    context.pipeline().addLast(new HttpRequestDecoder(), new HttpResponseEncoder());
                    context.fireChannelRead(Unpooled.copiedBuffer(begun, StandardCharsets.US_ASCII));
                    context.pipeline().remove(this);
                }
            }
        });
    }

    @Test
    void closesTheOldestIdleConnectionAtTheTotalLimit() {
        var oldest = connection("a");
        assertThat(limit.admit(oldest)).isEmpty();
        for (var other : List.of("b", "c", "d")) {
            assertThat(limit.admit(connection(other))).isEmpty();
        }

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
    void closesIdleConnectionsBeforeThoseWithARequestAndThenTheOldest() {
        var oldest = connection("a");
        var idle = connection("a");
        var all = List.of(oldest, idle, connection("a"));
        all.forEach(limit::admit);
        oldest.beginRequest();
        var next = connection("a");
        assertThat(limit.admit(next)).containsSame(idle);

        all.get(2).beginRequest();
        next.beginRequest();
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
        return new ClientConnection(new EmbeddedChannel(), address, budget, channel.eventLoop());
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
