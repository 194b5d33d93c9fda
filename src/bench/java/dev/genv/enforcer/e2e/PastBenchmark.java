package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * What a large past costs: the size of the database, the start of the packaged program with it, a report, and the resident
 * memory. {@code -Devents}, {@code -Ddays} and {@code -Dhosts} set how large the past is.
 */
public final class PastBenchmark {
    private static final int EVENTS = Integer.getInteger("events", 1_000_000);
    private static final int DAYS = Integer.getInteger("days", 30);
    private static final int HOSTS = Integer.getInteger("past-hosts", 50);
    private static final Pattern LISTENING = Pattern.compile("Listening on: (http://127\\.0\\.0\\.1:[0-9]+)");
    private static final Pattern MEMORY = Pattern.compile("(?m)^Vm(HWM|RSS):\\s+([0-9]+) kB$");
    private static final Pattern FAILURE = Pattern.compile(" WARN | ERROR |OutOfMemoryError");
    private static final Duration LONGEST = Duration.ofMinutes(5);

    private final Process process;
    private final Path out;
    private final Instant end;

    private PastBenchmark(Process process, Path out, Instant end) {
        this.process = process;
        this.out = out;
        this.end = end;
    }

    /** Runs the benchmark and prints a table. */
    public static void main(String... arguments) throws Exception {
        var folder = Files.createTempDirectory("genv-past");
        try {
            var end = Instant.now();
            var begin = end.minus(Duration.ofDays(DAYS));
            try (var past = new LargePast(folder, begin)) {
                past.addEvents(EVENTS, end);
                past.addObservations(HOSTS, Duration.ofDays(DAYS));
            }
            print("part", "result");
            print("---", "---");
            print("past", "%d events, %d days of %d hosts".formatted(EVENTS, DAYS, HOSTS));
            measure(Path.of(System.getProperty("packaged.jar")), "GENV_ENFORCER_DATA_", folder, end);
        } finally {
            try (var files = Files.walk(folder)) {
                for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    /** Measures a packaged program with a folder, the variables of which begin with a prefix. */
    static void measure(Path jar, String variables, Path folder, Instant end) throws Exception {
        print("size of the folder", "%.0f MiB".formatted(mebibytes(folder)));
        try (var node = new CostNode(CostNode.Size.parse("8x16x32"))) {
            var settings = new HashMap<>(node.settings(Duration.ofSeconds(1)));
            settings.put("GENV_ENFORCER_INTERVAL", "10s");
            settings.put(variables + "DIR", folder.toString());
            settings.put(variables + "MAX_SIZE", LargePast.MAX_SIZE);
            var out = Files.createTempFile(node.folder(), "out", "");
            var begin = System.nanoTime();
            var process = start(jar, settings, out);
            try {
                new PastBenchmark(process, out, end).measure(begin);
            } finally {
                process.destroy();
                process.waitFor();
                Files.readAllLines(out).stream()
                        .filter(line -> FAILURE.matcher(line).find())
                        .forEach(System.out::println);
            }
        }
    }

    private static double mebibytes(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            return files.mapToLong(file -> file.toFile().length()).sum() / 1024.0 / 1024;
        }
    }

    /** Starts the program with the image's JVM flags, and without its AOT cache. */
    private static Process start(Path jar, Map<String, String> settings, Path out) throws IOException {
        var command = new ArrayList<String>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(Node.imageFlags());
        command.addAll(List.of("-jar", jar.toAbsolutePath().toString()));
        var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("GENV_") || name.startsWith("QUARKUS_"));
        builder.environment().putAll(settings);
        return builder.start();
    }

    private void measure(long begin) throws Exception {
        await().atMost(LONGEST)
                .pollInterval(Duration.ofMillis(10))
                .until(() -> !process.isAlive()
                        || LISTENING.matcher(Files.readString(out)).find());
        print("start until it listens", since(begin));
        var cycles = ServiceCycles.of(out);
        await().atMost(LONGEST).pollInterval(Duration.ofMillis(100)).until(() -> cycles.count() > 0);
        print("resident after the first cycle", memory());
        var month = end.minus(Duration.ofDays(30));
        request("report of 30 days", "/report?from=" + month);
        print("resident after it", memory());
        print(
                "load",
                "%.1f".formatted(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage()));
    }

    private void request(String name, String target) throws IOException, InterruptedException {
        var match = LISTENING.matcher(Files.readString(out));
        if (!match.find()) {
            throw new IOException("the service does not listen: " + Files.readString(out));
        }
        var request = HttpRequest.newBuilder(URI.create(match.group(1) + target))
                .timeout(LONGEST)
                .build();
        try (var client = HttpClient.newHttpClient()) {
            var begin = System.nanoTime();
            var answer = client.send(request, HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
            var time = since(begin);
            var text = answer.body();
            var isComplete =
                    Pattern.compile("\"complete\"\\s*:\\s*true").matcher(text).find();
            print(
                    name,
                    isComplete ? time : time + ", not complete: " + text.substring(0, Math.min(300, text.length())));
        }
    }

    private static String since(long begin) {
        return "%.2f s".formatted(Duration.ofNanos(System.nanoTime() - begin).toMillis() / 1000.0);
    }

    /** Returns the resident memory and the largest one so far. */
    private String memory() throws IOException {
        var sizes = new HashMap<String, String>();
        MEMORY.matcher(Files.readString(Path.of("/proc/" + process.pid() + "/status")))
                .results()
                .forEach(match -> sizes.put(match.group(1), "%d MiB".formatted(Long.parseLong(match.group(2)) / 1024)));
        return "%s, at most %s so far".formatted(sizes.get("RSS"), sizes.get("HWM"));
    }

    private static void print(String part, String result) {
        System.out.printf("| %s | %s |%n", part, result);
    }
}
