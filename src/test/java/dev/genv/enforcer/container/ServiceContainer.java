package dev.genv.enforcer.container;

import static io.restassured.RestAssured.given;
import static org.awaitility.Awaitility.await;

import io.restassured.path.json.JsonPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The service as it runs in a container of its own. */
final class ServiceContainer implements AutoCloseable {
    private static final String API = "8080/tcp";
    private static final String MANAGEMENT = "9000/tcp";

    private final String id;
    private int api;
    private int management;

    private ServiceContainer(String id) {
        this.id = id;
    }

    /** Where it answers, if those are not ports that the engine publishes. */
    ServiceContainer withPorts(int ownApi, int ownManagement) {
        api = ownApi;
        management = ownManagement;
        return this;
    }

    /** Starts it, in the background. */
    static ServiceContainer start(Flags flags, String... arguments) throws IOException {
        var command = new ArrayList<>(List.of("run"));
        command.addAll(flags.arguments());
        command.add(Docker.IMAGE);
        command.addAll(List.of(arguments));
        return new ServiceContainer(Docker.run(command));
    }

    /** Runs a single cycle, or whatever else ends by itself, to its end. */
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

    /** Of the program itself, as the machine sees it. */
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

    /** Starts a {@code sleep} of another user beside the service, and tells its pid as the container has it. */
    String startProcessInside(long uid) throws IOException {
        Docker.run("exec", "--detach", "--user", Long.toString(uid), id, "sleep", "3600");
        await().until(() -> !processesInside().isEmpty());
        return processesInside();
    }

    /** That pid, while the process runs. */
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

    /** Waits until the service has looked once and says whether it is ready. */
    void awaitReady(boolean ready) {
        await().ignoreExceptions().until(() -> {
            var looked = status("/q/health/started") == 200;
            return looked && status("/q/health/ready") == (ready ? 200 : 503);
        });
    }

    /** Waits until that many more looks have been made. */
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

    /** As an engine does it that is told to stop it: whoever does not heed is killed after the minute, and ends with 137. */
    void stop() throws IOException {
        Docker.run("stop", "--time", "60", id);
    }

    @Override
    public void close() throws IOException {
        Docker.run("rm", "--force", "--volumes", id);
    }
}
