package dev.genv.enforcer.container;

import static io.restassured.RestAssured.given;
import static org.awaitility.Awaitility.await;

import io.restassured.path.json.JsonPath;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

/** The service in a container of an engine of the tests: Docker's, at DOCKER_HOST, or Podman, whose client takes the same arguments. */
final class ServiceContainer implements AutoCloseable {
    /** The tested image. */
    private static final String IMAGE = requiredProperty("tests.image");

    static final String PODMAN = requiredProperty("tests.podman");
    static final String DOCKER = "docker";
    /** The folder that the fake of NVIDIA's runtime and the CDI specifications of the tests mount into containers. */
    static final Path DRIVER = Path.of(requiredProperty("tests.driver"));

    private static final Pattern LISTENING = Pattern.compile(
            "Listening on: http://127.0.0.1:(\\d+). Management interface listening on http://127.0.0.1:(\\d+)");
    private static final String API = "8080/tcp";
    private static final String MANAGEMENT = "9000/tcp";

    private final String client;
    private final boolean hasNetworkOfMachine;
    private final String id;
    private int api;
    private int management;

    private ServiceContainer(String client, Flags flags) throws IOException {
        this.client = client;
        hasNetworkOfMachine = flags.arguments().contains("--network=host");
        var command = new ArrayList<>(List.of("run"));
        command.addAll(flags.arguments());
        command.add(IMAGE);
        id = succeed(command.toArray(String[]::new));
    }

    /** Starts the container in the background. */
    static ServiceContainer start(Flags flags) throws IOException {
        return new ServiceContainer(DOCKER, flags);
    }

    /** Starts it in the network of the machine, on any free ports of loopback. */
    static ServiceContainer startOnLoopback(String client, Flags flags) throws IOException {
        for (var port : List.of("HTTP", "MANAGEMENT")) {
            flags.add("-e", "QUARKUS_" + port + "_HOST=127.0.0.1", "-e", "QUARKUS_" + port + "_PORT=0");
        }
        return new ServiceContainer(client, flags.add("--network=host"));
    }

    /** Runs a container that exits by itself, such as a single cycle. */
    static Answer runOnce(String client, Flags flags) throws IOException {
        var command = new ArrayList<>(List.of("run", "--rm"));
        command.addAll(
                flags.without("-d").without("--restart", "unless-stopped").arguments());
        command.add(IMAGE);
        return run(client, command);
    }

    /** Sets whether NVIDIA's runtime adds GPUs only for mounts, unless a container is privileged. */
    static void setRuntimeIgnoresVariables(boolean ignores) throws IOException {
        var marker = DRIVER.resolve("ignore-variables");
        Files.deleteIfExists(marker);
        if (ignores) {
            Files.createFile(marker);
        }
    }

    String log() throws IOException {
        return run(client, List.of("logs", id)).text();
    }

    /** The pid of the program in the machine's PID namespace. */
    long pid() throws IOException {
        return Long.parseLong(inspect("{{.State.Pid}}"));
    }

    String inspect(String format) throws IOException {
        return succeed("inspect", "--format", format, id);
    }

    Answer execute(String... command) throws IOException {
        var arguments = new ArrayList<>(List.of("exec", id));
        arguments.addAll(List.of(command));
        return run(client, arguments);
    }

    /** Starts a {@code sleep} of another user in the container, and returns its pid in the container. */
    String startProcessInside(long uid) throws IOException {
        succeed("exec", "--detach", "--user", Long.toString(uid), id, "sleep", "3600");
        await().until(() -> !processesInside().isEmpty());
        return processesInside();
    }

    /** The pid while the process runs. */
    String processesInside() throws IOException {
        return execute(
                        "sh",
                        "-c",
                        "for comm in /proc/[0-9]*/comm; do read -r name <$comm; [ $name != sleep ] || echo $comm; done")
                .output()
                .replaceAll("[^0-9]", "");
    }

    int status(String path) throws IOException {
        return given().port(port(path)).get(path).statusCode();
    }

    JsonPath json(String path) throws IOException {
        return given().port(port(path)).get(path).jsonPath();
    }

    /** Returns a list of the only host, such as its missing privileges. */
    List<String> ofHost(String list) throws IOException {
        return json("/hosts").getList("[0]." + list);
    }

    /** Waits for the first observation and the result of readiness. */
    void awaitReady(boolean ready) {
        await().ignoreExceptions().until(() -> {
            var looked = status("/q/health/started") == 200;
            return looked && status("/q/health/ready") == (ready ? 200 : 503);
        });
    }

    /** Waits for this number of further observations. */
    void awaitCycles(int more) throws IOException {
        var enough = cycles() + more;
        await().until(() -> cycles() >= enough);
    }

    private double cycles() throws IOException {
        return given().port(port("/q/metrics"))
                .get("/q/metrics")
                .asString()
                .lines()
                .filter(line -> line.startsWith("genv_enforcer_cycle_duration_seconds_count"))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
                .sum();
    }

    int port(String path) throws IOException {
        if (api == 0 && hasNetworkOfMachine) {
            var listening = LISTENING.matcher(log()).results().findFirst().orElseThrow();
            api = Integer.parseInt(listening.group(1));
            management = Integer.parseInt(listening.group(2));
        } else if (api == 0) {
            api = publishedPort(API);
            management = publishedPort(MANAGEMENT);
        }
        return path.startsWith("/q/health") || path.startsWith("/q/metrics") ? management : api;
    }

    private int publishedPort(String port) throws IOException {
        return Integer.parseInt(inspect("{{(index (index .NetworkSettings.Ports \"" + port + "\") 0).HostPort}}"));
    }

    /** Stops the container: the engine kills it after a minute, and then its exit code is 137. */
    void stop() throws IOException {
        succeed("stop", "--time", "60", id);
    }

    @Override
    public void close() throws IOException {
        succeed("rm", "--force", "--volumes", id);
    }

    /** The exit code and the output of the client. Its own warnings are in the errors. */
    record Answer(int exitCode, String output, String errors) {
        /** Output and errors. */
        String text() {
            return output + "\n" + errors;
        }
    }

    /** Runs a command that must succeed. */
    private String succeed(String... arguments) throws IOException {
        var answer = run(client, List.of(arguments));
        if (answer.exitCode != 0) {
            throw new IOException("%s %s ended with %d: %s"
                    .formatted(client, String.join(" ", arguments), answer.exitCode, answer.text()));
        }
        return answer.output;
    }

    private static Answer run(String client, List<String> arguments) throws IOException {
        var command = new ArrayList<>(List.of(client));
        command.addAll(arguments);
        var errors = Files.createTempFile("container", "errors");
        try {
            var process =
                    new ProcessBuilder(command).redirectError(errors.toFile()).start();
            var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Answer(
                    process.waitFor(), output.strip(), Files.readString(errors).strip());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            Files.delete(errors);
        }
    }

    private static String requiredProperty(String property) {
        return Objects.requireNonNull(System.getProperty(property), () -> "these tests want -D" + property);
    }
}
