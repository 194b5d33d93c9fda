package dev.genv.enforcer.api.stream;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.sse.SseClient;
import io.quarkus.runtime.ShutdownEvent;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Clients that do not read, beside clients that do. */
class StalledReadersTest extends StreamFixture {
    private static final int READING = 15;
    private static final int STALLED = 5;
    private static final int EVENTS_OF_A_CYCLE = 20;
    /** Together they are more than the kernel keeps for a connection. */
    private static final int CYCLES = 100;

    private static final String TEXT = "x".repeat(10_000);

    /** The form of a chunk, and what is written before the queue counts as full. */
    private static final int OVERHEAD = 1 << 10;

    @Test
    void clientsThatDoNotReadAreDisconnectedAndTheOthersGetEveryEvent() throws Exception {
        heartbeat = Duration.ofSeconds(1);
        var reading = new ArrayList<SseClient>();
        for (var i = 0; i < READING; i++) {
            reading.add(connect("/events"));
        }
        var stalled = new ArrayList<Socket>();
        for (var i = 0; i < STALLED; i++) {
            stalled.add(stall());
        }
        Awaitility.await().atMost(HANG).until(() -> streams().readers.size() == READING + STALLED);

        long largestQueue = 0;
        for (var cycle = 0; cycle < CYCLES; cycle++) {
            append(events());
            largestQueue = Math.max(largestQueue, largestQueue());
            for (var client : reading) {
                for (var number = 1; number <= EVENTS_OF_A_CYCLE; number++) {
                    var event = client.next();
                    assertThat(event.id()).isEqualTo(id((long) cycle * EVENTS_OF_A_CYCLE + number));
                    assertThat(event.type()).isEqualTo("violation_opened");
                }
            }
        }

        assertThat(largestQueue).isBetween(1L, (long) EventReader.QUEUE_BYTES + EventFrames.LARGEST + OVERHEAD);
        assertThat(streams().frames.bytes()).isBetween(1, EventFrames.MAX_BYTES);
        Awaitility.await().atMost(HANG).until(() -> streams().readers.size() == READING);
        for (var socket : stalled) {
            assertThat(isDisconnected(socket)).isTrue();
        }
    }

    @Test
    void theEndOfTheServiceDoesNotWaitForClientsThatDoNotRead() throws Exception {
        var socket = stall();
        Awaitility.await().atMost(HANG).until(() -> streams().readers.size() == 1);
        Awaitility.await().atMost(HANG).until(() -> {
            append(events());
            return largestQueue() >= EventReader.QUEUE_BYTES / 2;
        });

        streams().stop(new ShutdownEvent());
        Awaitility.await().atMost(HANG).until(() -> streams().readers.size() == 0);
        assertThat(isDisconnected(socket)).isTrue();
    }

    /** The bytes that wait for the client for which most are waiting. */
    private long largestQueue() {
        return streams().readers.stream()
                .mapToLong(EventReader::queuedBytes)
                .max()
                .orElse(0);
    }

    private static EventContent[] events() {
        return IntStream.range(0, EVENTS_OF_A_CYCLE)
                .mapToObj(_ -> new EventContent.ViolationOpened(violation(KnownRules.ENV_MEMORY, "raz", "a", TEXT)))
                .toArray(EventContent[]::new);
    }

    private Socket stall() throws Exception {
        var socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.setSoTimeout((int) HANG.toMillis());
        socket.connect(new InetSocketAddress(InetAddress.getByName("localhost"), port()));
        socket.getOutputStream()
                .write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    private static boolean isDisconnected(Socket socket) throws IOException {
        try (socket) {
            var in = socket.getInputStream();
            var buffer = new byte[65536];
            while (in.read(buffer) >= 0) {
                // What the kernel has kept.
            }
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true; // a reset
        }
    }
}
