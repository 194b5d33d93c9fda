package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.TestCertificate;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** A fake node for the packaged program: a state directory, a fake nvidia-smi, and the settings for both. */
public final class Node implements AutoCloseable {
    private static final Path JAR = Path.of(System.getProperty("packaged.jar", "target/quarkus-app/quarkus-run.jar"))
            .toAbsolutePath();
    private static final Pattern LISTENING = Pattern.compile("Listening on: https?://127\\.0\\.0\\.1:([0-9]+)");
    private static final Pattern MANAGEMENT =
            Pattern.compile("Management interface listening on http://127\\.0\\.0\\.1:([0-9]+)");

    private static final int SIGTERM_EXIT_CODE = 143;

    private static final Pattern PEAK = Pattern.compile("VmHWM:\\s+([0-9]+) kB");
    private static final Pattern LIMIT = Pattern.compile("\n  limits:\n(?: +#.*\n)* +memory: ([0-9]+)Mi\n");

    private static final Pattern FLAG = Pattern.compile("-X(?!X:AOT)\\S+");

    public final Path directory;
    public final Path stateDirectory;
    public final StateFiles state;
    public final FakeNvidiaSmi gpus;
    private final Map<String, String> settings = new TreeMap<>();
    private final List<String> launcher = new ArrayList<>();
    private List<String> arguments = List.of();
    private final List<Process> started = new ArrayList<>();
    private int startCount;
    private Path temporaryFolder;
    private Duration storeLimit = TestTimeouts.HANG;
    /** The service creates this AOT cache instead of using one. */
    private Optional<Path> trainedCache = Optional.empty();

    /** The output and the exit code of the program. */
    public record Output(int exitCode, List<String> out, List<String> log) {}

    public Node(Path directory) throws IOException {
        this.directory = directory;
        temporaryFolder = directory;
        stateDirectory = Files.createDirectory(directory.resolve("genv"));
        state = new StateFiles(stateDirectory);
        gpus = new FakeNvidiaSmi(directory.resolve("bin"));
        set("STATE_DIR", stateDirectory);
        set("NVIDIA_SMI", gpus.path());
        set("NODE_NAME", "gpu-1");
        // The fake nvidia-smi reports pids of the tests' PID namespace, which may be a container's.
        set("REQUIRE_HOST_PID", false);
        variable("QUARKUS_HTTP_PORT", "0");
        variable("QUARKUS_MANAGEMENT_PORT", "0");
    }

    /** Sets a setting, named without its prefix GENV_ENFORCER_. */
    public Node set(String name, Object value) {
        return variable("GENV_ENFORCER_" + name, value.toString());
    }

    /** Removes a setting. */
    public Node unset(String name) {
        settings.remove("GENV_ENFORCER_" + name);
        return this;
    }

    public Node variable(String name, String value) {
        settings.put(name, value);
        return this;
    }

    /** Starts the program by a command, such as one that first drops privileges. */
    public Node launchWith(String... command) {
        launcher.addAll(List.of(command));
        return this;
    }

    /** Starts the program with arguments. */
    public Node setArguments(String... all) {
        arguments = List.of(all);
        return this;
    }

    /** Adds a database, and returns its folder. */
    public Path addDatabase() throws IOException {
        var folder = Files.createDirectory(
                directory.resolve("data"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        set("DATA_DIR", folder);
        return folder;
    }

    /** Serves the API with TLS. The files are tls.crt and tls.key in the folder of the node. */
    public Node setCertificate(TestCertificate certificate) throws IOException, GeneralSecurityException {
        var chain = Files.writeString(directory.resolve("tls.crt"), certificate.pem());
        var key = Files.writeString(directory.resolve("tls.key"), certificate.keyPem());
        return set("TLS_CERTIFICATE_FILE", chain).set("TLS_KEY_FILE", key);
    }

    public Path devicesJson() {
        return stateDirectory.resolve("devices.json");
    }

    /** Runs a single cycle to its end. */
    public Output runOnce() throws IOException {
        set("INTERVAL", 0);
        return run();
    }

    /** Runs the program until it ends by itself. */
    public Output run() throws IOException {
        var service = start();
        await().until(() -> !service.process.isAlive());
        return new Output(
                service.process.exitValue(), Files.readAllLines(service.out), Files.readAllLines(service.log));
    }

    /** Starts the service and waits for its port. */
    public Service startService() throws IOException {
        set("INTERVAL", "1s");
        var service = start();
        await().until(() -> service.port() > 0 || !service.process.isAlive());
        return service;
    }

    public Service start() throws IOException {
        startCount++;
        var out = directory.resolve("out-" + startCount);
        var log = directory.resolve("log-" + startCount);
        var command = new ArrayList<>(launcher);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(imageFlags());
        command.add(
                trainedCache.isPresent() ? "-XX:AOTCacheOutput=" + trainedCache.get() : "-XX:AOTCache=" + aotCache());
        command.addAll(List.of(
                "-Dstore.limit-seconds=" + storeLimit.toSeconds(),
                "-Djava.io.tmpdir=" + temporaryFolder,
                "-jar",
                JAR.toString()));
        command.addAll(arguments);
        var builder = new ProcessBuilder(command);
        builder.directory(directory.toFile()).redirectOutput(out.toFile()).redirectError(log.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("GENV_") || name.startsWith("QUARKUS_"));
        builder.environment().put("MALLOC_ARENA_MAX", "2"); // as the script of the image
        builder.environment().putAll(settings);
        var process = builder.start();
        started.add(process);
        return new Service(process, out, log);
    }

    /** Sets how long the service waits for the disk of its database, which by default is longer than any disk takes. */
    public Node setStoreLimit(Duration limit) {
        storeLimit = limit;
        return this;
    }

    /** Sets the JVM's folder for temporary files, which by default is the node's. */
    public Node setTemporaryFolder(Path folder) {
        temporaryFolder = folder;
        return this;
    }

    /** The JVM flags of the image on a node, so that the suites run with the same memory; without the one for the AOT cache. */
    static List<String> imageFlags() throws IOException {
        var script = Files.readString(Path.of("docker/genv-enforcer"));
        var ofFleets = script.substring(script.indexOf("if "), script.indexOf("else"));
        return FLAG.matcher(script.replace(ofFleets, ""))
                .results()
                .map(MatchResult::group)
                .toList();
    }

    /**
     * The AOT cache of the packaged service, which the image has too. A service that uses it needs half of the processor time to start,
     * and the suites start more than a hundred services. The first caller makes it, and callers in other JVMs wait for that.
     */
    private static synchronized Path aotCache() throws IOException {
        var cache = JAR.resolveSibling("app-%s.aot".formatted(Runtime.version()));
        var options = new StandardOpenOption[] {StandardOpenOption.CREATE, StandardOpenOption.WRITE};
        try (var file = FileChannel.open(JAR.resolveSibling("app.aot.lock"), options);
                var _ = file.lock()) {
            if (!Files.exists(cache) || isStale(cache)) {
                train(cache);
            }
        }
        return cache;
    }

    /** The JVM uses a cache even if a jar was replaced. */
    private static boolean isStale(Path cache) throws IOException {
        var made = Files.getLastModifiedTime(cache);
        try (var files = Files.walk(cache.getParent())) {
            for (var file :
                    files.filter(path -> path.toString().endsWith(".jar")).toList()) {
                if (Files.getLastModifiedTime(file).compareTo(made) >= 0) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The JVM writes the cache when the service ends. */
    private static void train(Path cache) throws IOException {
        var directory = Files.createTempDirectory(cache.getParent(), "training-");
        var draft = directory.resolve("draft.aot");
        try (var node = new Node(directory)) {
            node.gpus.gpus(3);
            node.state.device(0).device(1).device(2).write();
            node.trainedCache = Optional.of(draft);
            var service = node.startService();
            var serviceClient = new ServiceClient(service);
            serviceClient.awaitNext(serviceClient.observe());
            serviceClient.json("/violations");
            serviceClient.status("/q/health/ready");
            service.stop();
            if (service.process().exitValue() != SIGTERM_EXIT_CODE || !Files.exists(draft)) {
                throw new IOException("There is no AOT cache: " + service.outputLines());
            }
        }
        Files.move(draft, cache, StandardCopyOption.REPLACE_EXISTING);
        Programs.run("rm", "-r", directory.toString());
    }

    @Override
    public void close() {
        started.forEach(Process::destroyForcibly);
        await().until(() -> started.stream().noneMatch(Process::isAlive));
    }

    /** The running program. */
    public record Service(Process process, Path out, Path log) {

        /** Returns the port of the API; 0 before the program listens. */
        public int port() throws IOException {
            var match = LISTENING.matcher(Files.readString(out));
            return match.find() ? Integer.parseInt(match.group(1)) : 0;
        }

        /** Returns the port of health and metrics, or the port of the API if there is no other one. */
        public int managementPort() throws IOException {
            var match = MANAGEMENT.matcher(Files.readString(out));
            return match.find() ? Integer.parseInt(match.group(1)) : port();
        }

        /** Returns the port that serves this path. */
        public int portOf(String path) throws IOException {
            return path.startsWith("/q/health") || path.startsWith("/q/metrics") ? managementPort() : port();
        }

        /** Returns all lines of the standard output and the log. */
        public List<String> outputLines() throws IOException {
            var lines = new ArrayList<>(Files.readAllLines(out));
            lines.addAll(Files.readAllLines(log));
            return lines;
        }

        /** Kills the program with SIGKILL, as the kernel's OOM killer does, and waits for its exit. */
        public void kill() {
            process.destroyForcibly();
            await().until(() -> !process.isAlive());
        }

        /** Stops the program with SIGTERM, as a container engine does, and waits for its exit without a time limit. */
        public void stop() {
            process.destroy();
            await().until(() -> !process.isAlive());
        }

        /** Returns the peak resident memory in MiB. */
        public long peakMemory() throws IOException {
            var status = Files.readString(Path.of("/proc", Long.toString(process.pid()), "status"));
            return number(PEAK, status) / 1024;
        }
    }

    /** Returns the memory limit of the chart in MiB. */
    public static long memoryLimit() throws IOException {
        return number(LIMIT, Files.readString(Path.of("helm/genv-enforcer/values.yaml")));
    }

    private static long number(Pattern pattern, String text) throws IOException {
        var match = pattern.matcher(text);
        if (!match.find()) {
            throw new IOException("nothing there looks like " + pattern);
        }
        return Long.parseLong(match.group(1));
    }
}
