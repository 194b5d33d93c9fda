package dev.genv.enforcer.api.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class InvalidRequestsTest {
    private static final String END = " HTTP/1.1\r\nHost: localhost\r\n\r\n";

    private final EmbeddedChannel channel = new EmbeddedChannel();

    InvalidRequestsTest() {
        PipelineLimit.add(channel);
        channel.pipeline().addLast(new HttpRequestDecoder(), new HttpResponseEncoder());
    }

    @AfterEach
    void closeChannel() {
        channel.finishAndReleaseAll();
    }

    @ParameterizedTest
    @CsvSource({
        "GET /%,400,the request target is no URI",
        "GET /hosts?user=%zz,400,the request target is no URI",
        "GET /hosts nonsense,400,this is no HTTP request",
        "GET /a\\b,400,the request target is no URI"
    })
    void refusesAnInvalidFirstLine(String begin, int status, String reason) {
        send(begin + END);
        assertRefused(status, reason);
    }

    @Test
    void refusesWhatIsNoRequest() {
        send("nonsense\r\n\r\n");
        assertRefused(400, "this is no HTTP request");
    }

    @Test
    void refusesALongFirstLine() {
        send("GET /" + "x".repeat(5_000) + END);
        assertRefused(414, "the first line of the request is too long");
    }

    @Test
    void refusesLongHeaders() {
        send("GET / HTTP/1.1\r\nX: " + "x".repeat(10_000) + "\r\n\r\n");
        assertRefused(431, "the headers of the request are too long");
    }

    @Test
    void theAnswerToHeadHasNoBody() {
        send("HEAD /%" + END);
        assertThat(answer()).startsWith("HTTP/1.1 400 Bad Request\r\n").endsWith("\r\n\r\n");
    }

    @Test
    void whatFollowsIsNotRead() {
        send("GET /%" + END + "GET /hosts" + END);
        assertThat(channel.inboundMessages()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET /",
                "OPTIONS *",
                "GET http://localhost/hosts?x=http://a/",
                "CONNECT localhost:443",
                "GET /%25"
            })
    void passesOnOtherRequests(String begin) {
        send(begin + END);
        assertThat(channel.inboundMessages()).isNotEmpty();
        assertThat(channel.isOpen()).isTrue();
    }

    private void assertRefused(int status, String reason) {
        var answer = answer();
        assertThat(answer)
                .startsWith("HTTP/1.1 " + status)
                .contains("content-type: application/problem+json", "\"status\": " + status, reason);
        assertThat(channel.inboundMessages()).isEmpty();
        assertThat(channel.isOpen()).isFalse();
    }

    private String answer() {
        var all = new StringBuilder();
        for (ByteBuf part; (part = channel.readOutbound()) != null; ) {
            all.append(part.toString(StandardCharsets.US_ASCII));
            part.release();
        }
        return all.toString();
    }

    private void send(String text) {
        channel.writeInbound(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
    }
}
