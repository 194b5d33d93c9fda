package dev.genv.enforcer.config;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class ConsoleOutputTest {
    private final Reader reader = new Reader();
    private final List<Long> reported = new CopyOnWriteArrayList<>();
    private final ConsoleOutput output = new ConsoleOutput(reader, "test-output", 100, reported::add);

    /** A reader that reads nothing before it is started. */
    private static final class Reader extends OutputStream {
        private final ByteArrayOutputStream read = new ByteArrayOutputStream();
        private final CountDownLatch begun = new CountDownLatch(1);
        private volatile boolean gone;

        @Override
        public void write(int single) throws IOException {
            write(new byte[] {(byte) single}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            try {
                begun.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            if (gone) {
                throw new IOException("Broken pipe");
            }
            synchronized (this) {
                read.write(bytes, offset, length);
            }
        }

        synchronized String text() {
            return read.toString(US_ASCII);
        }
    }

    @Test
    void writesWholeLinesInTheirOrder() throws IOException {
        reader.begun.countDown();

        write("one");
        write(" line\nand another\nthe beginning of ");
        await().until(() -> reader.text().equals("one line\nand another\n"));
        write("a third\n");

        await().until(() -> reader.text().equals("one line\nand another\nthe beginning of a third\n"));
        assertThat(reported).isEmpty();
    }

    @Test
    void dropsLinesAboveTheLimitAndReportsThemLater() throws IOException {
        var before = ConsoleOutput.dropped();

        for (var i = 0; i < 20; i++) {
            write("line %03d\n".formatted(i)); // 9 bytes each
        }
        assertThat(ConsoleOutput.dropped() - before).isEqualTo(9);
        reader.begun.countDown();

        await().until(() -> reported.equals(List.of(9L)));
        assertThat(reader.text().lines()).hasSize(11).startsWith("line 000").endsWith("line 010");
        write("and on\n");
        await().until(() -> reader.text().endsWith("line 010\nand on\n"));
        assertThat(reported).hasSize(1);
    }

    @Test
    void countsALineLongerThanTheLimitAsDropped() throws IOException {
        var before = ConsoleOutput.dropped();
        reader.begun.countDown();

        write("x".repeat(101));
        assertThat(ConsoleOutput.dropped() - before).isEqualTo(1);

        write("short\n");
        await().until(() -> reader.text().equals("short\n"));
    }

    @Test
    void reportsNothingAfterTheReaderIsGone() throws IOException {
        var before = ConsoleOutput.dropped();
        reader.gone = true;
        reader.begun.countDown();

        write("one\n");
        await().until(() -> ConsoleOutput.dropped() - before == 1);
        write("two\n");
        await().until(() -> ConsoleOutput.dropped() - before == 2);
        assertThat(reported).isEmpty();
    }

    @Test
    void shutdownWritesAllLinesToAReaderThatReads() throws IOException {
        reader.begun.countDown();
        write("one\nan unfinished line");

        output.waitForReader(Duration.ofMinutes(1));

        assertThat(reader.text()).isEqualTo("one\nan unfinished line");
        write("two\n");
        assertThat(reader.text()).endsWith("two\n");
    }

    @Test
    void shutdownDoesNotWaitForAReaderThatDoesNotRead() throws IOException {
        write("one\n");

        output.waitForReader(Duration.ofMillis(50));
        write("two\n");

        assertThat(reader.text()).isEmpty();
    }

    private void write(String text) throws IOException {
        output.write(text.getBytes(US_ASCII));
    }
}
