package dev.genv.enforcer.container;

import static io.restassured.RestAssured.given;
import static org.awaitility.Awaitility.await;

import io.restassured.path.json.JsonPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The service in a container. */
final class ServiceContainer implements AutoCloseable {
    private static final String API = "8080/tcp";
    private static final String MANAGEMENT = "9000/tcp";

    private final String id;
    private int api;
    private int management;

    private ServiceContainer(String id) {
        this.id = id;
    }

    /** The address of the service, if the engine publishes no ports. */
    ServiceContainer withPorts(int ownApi, int ownManagement) {
        api = ownApi;
        management = ownManagement;
        return this;
    }

    /** Starts the container in the background. */
    static ServiceContainer start(Flags flags, String... arguments) throws IOException {
        var command = new ArrayList<>(List.of("run"));
        command.addAll(flags.arguments());
        command.add(Docker.IMAGE);
        command.addAll(List.of(arguments));
        return new ServiceContainer(Docker.run(command));
    }

    /** Runs a container that exits by itself, such as a single cycle. */
    static Docker.Answer runOnce(Flags flags) throws IOException {
        var command = new ArrayList<>(List.of("run", "--rm"));
        command.addAll(
                flags.without("-d").without("--restart", "unless-stopped").arguments());
        command.add(Docker.IMAGE);
        return Docker.tryToRun(command);
    }

    String log() throws IOException {
        return Docker.tryToRun(List.of("logs", id)).text();
    }

    /** The pid of the program in the machine's PID namespace. */
    long pid() throws IOException {
        return Long.parseLong(inspect("{{.State.Pid}}"));
    }

    String inspect(String format) throws IOException {
        return Docker.run("inspect", "--format", format, id);
    }

    Docker.Answer execute(String... command) throws IOException {
        var arguments = new ArrayList<>(List.of("exec", id));
        arguments.addAll(List.of(command));
        return Docker.tryToRun(arguments);
    }

    /** Starts a {@code sleep} of another user in the container, and returns its pid in the container. */
    String startProcessInside(long uid) throws IOException {
        Docker.run("exec", "--detach", "--user", Long.toString(uid), id, "sleep", "3600");
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

    private int port(String path) throws IOException {
        if (api == 0) {
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
        Docker.run("stop", "--time", "60", id);
    }

    @Override
    public void close() throws IOException {
        Docker.run("rm", "--force", "--volumes", id);
    }
}
