package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.ssh.MinaFleet;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Cycles over 1, 10, 100 and 1,000 machines that answer over SSH with a recorded observation of a node with 8 devices and 4
 * processes. The baseline is two runs of {@code ssh} for each host, as genv makes them in every cycle. The servers run in this JVM
 * and the client in another one, so that their time and memory are measured separately. The last table is of a fleet in which a fifth of the machines hangs.
 */
public final class FleetBenchmark {
    private static final int[] SIZES = Stream.of(
                    System.getProperty("fleets", "1,10,100,1000").split(",", -1))
            .mapToInt(Integer::parseInt)
            .toArray();
    private static final int OF_THE_HANGING_FLEET = 50;
    private static final int DEVICES = 8;
    private static final int PROCESSES = 4;
    private static final String MACHINE = "0123456789abcdef0123456789abcdef";

    private FleetBenchmark() {}

    /** Runs the benchmark and prints the tables of {@code performance.md}. */
    public static void main(String... arguments) throws Exception {
        var folder = Files.createTempDirectory("genv-fleet");
        try {
            var identity = Files.createFile(
                    folder.resolve("id"),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            Files.writeString(identity, FleetClient.newIdentity());
            var observation = recordedLook(folder);
            System.out.println("| hosts | one cycle | client CPU per host | relative to two runs of `ssh`"
                    + " | relative to two own connections | heap per further host | threads |");
            System.out.println("| --- | --- | --- | --- | --- | --- | --- |");
            var ofOneHost = 0L;
            for (var hosts : SIZES) {
                try (var fleet = new MinaFleet(hosts, observation)) {
                    var result = client(folder, fleet, "cycles");
                    var heap = Long.parseLong(result.getOrDefault(FleetClient.HEAP, "0"));
                    if (hosts == 1) {
                        ofOneHost = heap;
                    }
                    var more = ofOneHost == 0 || hosts == 1
                            ? "–"
                            : "%d KiB".formatted((heap - ofOneHost) / (hosts - 1) >> 10);
                    result.put(FleetClient.HEAP, more);
                    print(result);
                }
            }
            System.out.println();
            System.out.println(
                    "| cycles | median, relative to the deadline | longest, relative to the deadline | heap | threads |");
            System.out.println("| --- | --- | --- | --- | --- |");
            try (var fleet = new MinaFleet(OF_THE_HANGING_FLEET, observation)) {
                fleet.hang(IntStream.range(0, OF_THE_HANGING_FLEET)
                        .filter(host -> host % 5 == 0)
                        .boxed()
                        .collect(Collectors.toSet()));
                client(folder, fleet, "hanging")
                        .forEach((when, what) -> System.out.println("| " + when + " | " + what + " |"));
                System.out.println();
                System.out.println(fleet.hangingCommands() + " observations hung");
            }
        } finally {
            try (var files = Files.walk(folder)) {
                for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    private static void print(Map<String, String> result) {
        System.out.println(result.values().stream().collect(Collectors.joining(" | ", "| ", " |")));
    }

    private static Map<String, String> client(Path folder, MinaFleet fleet, String what)
            throws IOException, InterruptedException {
        Files.write(folder.resolve("hosts"), fleet.hosts());
        fleet.knownHosts(folder.resolve("known_hosts"));
        var process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xmx512m",
                        "--enable-native-access=ALL-UNNAMED",
                        "-Djava.util.logging.manager=org.jboss.logmanager.LogManager",
                        "-cp",
                        System.getProperty("java.class.path"),
                        FleetClient.class.getName(),
                        folder.toString(),
                        what)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        var result = new LinkedHashMap<String, String>();
        try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
            lines.lines().filter(line -> line.startsWith("RESULT ")).forEach(line -> {
                var parts = line.substring("RESULT ".length()).split("=", 2);
                result.put(parts[0], parts[1]);
            });
        }
        if (process.waitFor() != 0 || result.isEmpty()) {
            throw new IllegalStateException("the client failed");
        }
        return result;
    }

    /** Returns the real agent's answer on a real node; every machine gets its own identity. */
    private static BiFunction<Integer, String, String> recordedLook(Path folder) throws Exception {
        var children = new ArrayList<Child>();
        try {
            var gpus = new FakeNvidiaSmi(folder.resolve("bin")).gpus(DEVICES);
            var state = new StateFiles(folder.resolve("genv"));
            for (var number = 0; number < PROCESSES; number++) {
                var child = Child.inEnvironment("e" + number);
                children.add(child);
                gpus.process(number, child.pid(), "1000");
                state.ownEnv("e" + number, "8gi", child.pid());
                state.device(number, "e" + number);
            }
            for (var device = PROCESSES; device < DEVICES; device++) {
                state.device(device);
            }
            state.write();
            var recorded = new AtomicReference<RecordedAnswer>();
            var host = FleetClient.host(
                    folder.resolve("genv").toString(), gpus.path().toString(), recorder(recorded));
            host.observe(Set.of());
            var first = recorded.get();
            host.observe(Set.of());
            var later = recorded.get();
            return (number, input) -> {
                if (input.isEmpty()) {
                    return "ok\n";
                }
                // The accounts are sent once.
                var answer = input.contains("\"passwd\":\"\"") ? first : later;
                return answer.of("%032x".formatted(number + 1), input);
            };
        } finally {
            children.forEach(Child::close);
        }
    }

    private static Connection recorder(AtomicReference<RecordedAnswer> recorded) {
        return new Connection() {
            @Override
            public CommandResult request(ProgramRequest request) {
                try {
                    var machine = Files.readString(Path.of("/etc/machine-id")).strip();
                    var output = local(request);
                    recorded.set(new RecordedAnswer(output.replace(machine, MACHINE), MACHINE));
                    return new CommandResult(output, "", 0, null);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }

            @Override
            public void stop() {
                // each request has a program of its own
            }

            @Override
            public void close() {
                // there is no connection
            }
        };
    }

    private static String local(ProgramRequest request) throws IOException {
        var process = new ProcessBuilder("/bin/sh", "-c", request.command())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (var input = process.getOutputStream();
                var output = process.getInputStream()) {
            input.write((request.program() + request.line()).getBytes(StandardCharsets.UTF_8));
            input.close();
            return new String(output.readAllBytes(), StandardCharsets.ISO_8859_1);
        }
    }
}
