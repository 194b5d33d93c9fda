package dev.genv.enforcer.e2e;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What clients that follow the events cost a service: the time of its cycles and its memory, without clients and with them. The service
 * is a process of its own with the flags of the image on a node; the clients are in this one. Stalled clients connect again as soon as
 * the service disconnects them.
 */
public final class StreamBenchmark {
    private static final int CYCLES = Integer.getInteger("stream-cycles", 2000);
    private static final int STEPS = 4;
    private static final int WARM_UP = 500;
    private static final String SERVICE = "dev.genv.enforcer.api.stream.StreamService";

    private final int port;
    private final AtomicLong received = new AtomicLong();
    private final AtomicLong missed = new AtomicLong();
    private final AtomicLong disconnected = new AtomicLong();
    private final List<Thread> clients = new ArrayList<>();

    private StreamBenchmark(int port) {
        this.port = port;
    }

    /** Runs the benchmark and prints a table. */
    public static void main(String... arguments) throws Exception {
        System.out.println(
                "| readers | stalled | cycles | median time of a cycle | CPU of its thread | heap | resident |");
        System.out.println("| --- | --- | --- | --- | --- | --- | --- |");
        measure(0, 0);
        measure(40, 10);
    }

    private static void measure(int reading, int stalled) throws Exception {
        var command = new ArrayList<String>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(Node.imageFlags());
        command.addAll(List.of(
                "-Djava.util.logging.manager=org.jboss.logmanager.LogManager",
                "-classpath",
                System.getProperty("java.class.path"),
                SERVICE));
        var process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (var in = new PrintWriter(process.getOutputStream(), true, StandardCharsets.UTF_8);
                var out = process.inputReader(StandardCharsets.UTF_8)) {
            var benchmark = new StreamBenchmark(Integer.parseInt(out.readLine()));
            in.println(WARM_UP);
            out.readLine();
            benchmark.start(reading, stalled);
            for (var step = 1; step <= STEPS; step++) {
                in.println(CYCLES / STEPS);
                System.out.printf("| %d | %d | %d | %s |%n", reading, stalled, step * CYCLES / STEPS, out.readLine());
            }
            System.out.printf(
                    "%d events received, %d missed, %d stalled clients disconnected, load %.1f%n",
                    benchmark.received.get(),
                    benchmark.missed.get(),
                    benchmark.disconnected.get(),
                    ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
            benchmark.clients.forEach(Thread::interrupt);
        } finally {
            process.destroy();
            process.waitFor();
        }
    }

    private void start(int reading, int stalled) {
        for (var i = 0; i < reading; i++) {
            clients.add(Thread.ofVirtual().start(this::read));
        }
        for (var i = 0; i < stalled; i++) {
            clients.add(Thread.ofPlatform().daemon().start(this::stall));
        }
    }

    private void read() {
        try (var socket = connect(0);
                var lines =
                        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))) {
            var last = 0L;
            for (String line; (line = lines.readLine()) != null; ) {
                if (line.startsWith("id: ")) {
                    var sequence = Long.parseLong(line.substring(line.lastIndexOf('-') + 1));
                    if (last > 0 && sequence > last + 1) {
                        missed.addAndGet(sequence - last - 1);
                    }
                    last = sequence;
                } else if (line.startsWith("event: ")) {
                    received.incrementAndGet();
                }
            }
        } catch (IOException e) {
            // The service has ended.
        }
    }

    private void stall() {
        while (!Thread.interrupted()) {
            try (var socket = connect(4096)) {
                while (true) {
                    Thread.sleep(Duration.ofSeconds(1));
                    socket.getOutputStream().write('G'); // fails once the service has disconnected it
                }
            } catch (IOException e) {
                disconnected.incrementAndGet();
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private Socket connect(int receiveBuffer) throws IOException {
        var socket = new Socket();
        if (receiveBuffer > 0) {
            socket.setReceiveBufferSize(receiveBuffer);
        }
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        socket.getOutputStream()
                .write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        return socket;
    }
}
