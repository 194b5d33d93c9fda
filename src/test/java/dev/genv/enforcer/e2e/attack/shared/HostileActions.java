package dev.genv.enforcer.e2e.attack.shared;

import static dev.genv.enforcer.e2e.attack.shared.SharedNode.DEVICES;
import static dev.genv.enforcer.e2e.attack.shared.SharedNode.HONEST_USERS;
import static dev.genv.enforcer.e2e.attack.shared.SharedNode.eid;
import static dev.genv.enforcer.e2e.attack.shared.SharedNode.uid;
import static dev.genv.enforcer.e2e.attack.shared.SharedNode.username;

import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Actions of hostile users on a shared node. Each action lasts a while, and the same user reverts it. */
final class HostileActions {
    private static final int MAX_SECONDS = HostileUsersIT.IS_LONG ? 20 : 4;
    private static final int FREE_DEVICE = DEVICES - 1;
    private static final String PAST = "01/01/2020 00:00:00";
    private static final Duration SHORT_TIME = Duration.ofSeconds(2);

    private final SharedNode shared;
    private final int user;
    private final Random random;

    /** One action. */
    interface Action {
        void run() throws IOException, InterruptedException;
    }

    HostileActions(SharedNode shared, int user, Random random) {
        this.shared = shared;
        this.user = user;
        this.random = random;
    }

    /** Actions that do not change the entries of honest users. */
    Map<String, Action> lastingActions() {
        return Map.ofEntries(
                Map.entry("a process outside of all environments", () -> use(Map.of(), FREE_DEVICE, 100)),
                Map.entry(
                        "a process in another's environment",
                        () -> use(inEnvironment(eid(randomVictim())), randomVictim(), 5_000)),
                Map.entry("a process on another's device", () -> use(inEnvironment(eid(user)), randomVictim(), 100)),
                Map.entry(
                        "a process that names no environment there is",
                        () -> use(inEnvironment("none"), FREE_DEVICE, 1)),
                Map.entry("a process that overwrites its environ", this::overwrittenEnviron),
                Map.entry("a process that changes its uid", this::changingUid),
                Map.entry("another's pids in an own environment", this::foreignPids),
                Map.entry("a forged environment on every device", this::forgedEnvironment),
                Map.entry("a second environment of another's id", this::duplicate),
                Map.entry("an own pid in another's environment", this::ownPid),
                Map.entry("pids that are listed and struck out", this::manyPids),
                Map.entry("kernel ids of a megabyte", this::largeKernelIds),
                Map.entry("keys that nobody knows", this::unknownKeys),
                Map.entry(
                        "garbage for a state",
                        () -> shared.overwriteTemporarily(user, randomFile(), "{\"envs\": [", SHORT_TIME)),
                Map.entry(
                        "a FIFO for a state",
                        () -> shared.runTemporarily(user, replaceCommand(randomFile(), "mkfifo %s"), SHORT_TIME)),
                Map.entry(
                        "a link for a state",
                        () -> shared.runTemporarily(
                                user, replaceCommand(randomFile(), "ln -s /etc/passwd %s"), SHORT_TIME)),
                Map.entry(
                        "a directory for a lock",
                        () -> shared.runTemporarily(user, replaceCommand("genv.lock", "mkdir %s"), SHORT_TIME)),
                Map.entry("a lock that is held", this::heldLock),
                Map.entry("processes with large arguments", this::largeArguments),
                Map.entry("connections that say little", this::slowConnections),
                Map.entry("plans of many small arrays", this::largePlan));
    }

    /** Actions that change the entries of honest users for less than the grace period. */
    List<Action> shortEdits() {
        return List.of(
                () -> shared.addTemporarily(user, files -> files.withoutEnv(eid(randomVictim())), SHORT_TIME),
                () -> shared.addTemporarily(user, files -> files.device(randomVictim()), SHORT_TIME),
                () -> shared.addTemporarily(
                        user, files -> files.env(eid(0), uid(0), username(0), "1m", shared.pids(0)), SHORT_TIME),
                () -> shared.addTemporarily(
                        user, files -> files.env(eid(1), uid(1), username(1), null, shared.shellPid(1)), SHORT_TIME));
    }

    private int randomVictim() {
        return random.nextInt(HONEST_USERS);
    }

    private Duration randomTime() {
        return Duration.ofSeconds(1 + random.nextInt(MAX_SECONDS));
    }

    private String randomFile() {
        return random.nextBoolean() ? "envs.json" : "devices.json";
    }

    /** It tries again while another process creates the file between the two commands. */
    private static String replaceCommand(String file, String by) {
        return "until rm -rf %s && %s; do :; done".formatted(file, by.formatted(file));
    }

    private static Map<String, String> inEnvironment(String eid) {
        return Map.of("GENV_ENVIRONMENT_ID", eid);
    }

    private void use(Map<String, String> variables, int device, int memory) throws IOException, InterruptedException {
        try (var child = Child.ofUser(uid(user), variables)) {
            use(child, device, memory);
        }
    }

    private void use(Child child, int device, int memory) throws IOException, InterruptedException {
        shared.use(device, child, memory);
        Thread.sleep(randomTime());
    }

    private void overwrittenEnviron() throws IOException, InterruptedException {
        var command = shared.command(user, "exec perl -e '$0 = \"x\" x 5000; sleep 600'");
        try (var child = Child.running(command, inEnvironment(eid(user)))) {
            use(child, FREE_DEVICE, 100);
        }
    }

    /** Root starts it, as newuidmap does, and it alternates between two uids. */
    private void changingUid() throws IOException, InterruptedException {
        var script = "use POSIX; while (1) { $< = %d + 100 * ($i++ %% 2); select undef, undef, undef, 0.01 }"
                .formatted(uid(user));
        try (var child = Child.running(List.of("perl", "-e", script), inEnvironment(eid(randomVictim())))) {
            use(child, FREE_DEVICE, 100);
        }
    }

    private void foreignPids() throws IOException, InterruptedException {
        var pids =
                new ArrayList<>(List.of(shared.shellPid(user), shared.shellPid(0), shared.jobPid(0), shared.jobPid(1)));
        Collections.shuffle(pids, random);
        shared.addTemporarily(
                user,
                files -> files.env(eid(user), uid(user), username(user), null, pids.toArray(Integer[]::new)),
                randomTime());
    }

    private void forgedEnvironment() throws IOException, InterruptedException {
        var victim = randomVictim();
        var forged = "forged-" + user;
        shared.addTemporarily(
                user,
                files -> {
                    files.env(forged, uid(victim), username(victim), null, shared.shellPid(victim));
                    for (var device = 0; device < DEVICES; device++) {
                        var holder = device < DEVICES - 2
                                ? List.of(new Attachment(eid(device), null, PAST))
                                : List.<Attachment>of();
                        var all = new ArrayList<>(holder);
                        all.add(new Attachment(forged, null, PAST));
                        files.device(device, all.toArray(Attachment[]::new));
                    }
                },
                randomTime());
    }

    private void duplicate() throws IOException, InterruptedException {
        var victim = randomVictim();
        var first = shared.validState().envsJson();
        var second = new StateFiles(shared.node.stateDirectory)
                .env(eid(victim), uid(user), username(user), "1m", shared.shellPid(user))
                .envsJson();
        shared.overwriteTemporarily(
                user,
                "envs.json",
                first.substring(0, first.lastIndexOf("\n  ]")) + "," + second.substring(second.indexOf('[') + 1),
                SHORT_TIME);
    }

    private void ownPid() throws IOException, InterruptedException {
        shared.addTemporarily(
                user,
                files -> files.env(eid(2), uid(2), username(2), null, shared.shellPid(2), shared.shellPid(user)),
                randomTime());
    }

    private void manyPids() throws IOException, InterruptedException {
        for (var time = 0; time < 4; time++) {
            var first = 1_000_000 + random.nextInt(1_000_000);
            var pids = IntStream.range(first, first + 2_600).boxed().toArray(Integer[]::new);
            var own = "pids-" + user;
            shared.addTemporarily(user, files -> files.env(own, uid(user), username(user), null, pids), SHORT_TIME);
        }
    }

    private void largeKernelIds() throws IOException, InterruptedException {
        var prefix = "kernels-" + random.nextInt(1_000_000) + "-";
        shared.addTemporarily(
                user,
                files -> {
                    for (var i = 0; i < 5; i++) {
                        files.env(
                                prefix + i,
                                uid(user),
                                username(user),
                                null,
                                List.of(shared.shellPid(user)),
                                List.of("k".repeat(1_000_000)));
                    }
                },
                SHORT_TIME);
    }

    private void unknownKeys() throws IOException, InterruptedException {
        var keys = IntStream.range(0, 100)
                .mapToObj(i -> "\"%d%s\": 0,".formatted(random.nextLong(), "k".repeat(49_000)))
                .collect(Collectors.joining());
        shared.overwriteTemporarily(
                user, "envs.json", shared.validState().envsJson().replaceFirst("\\{", "{" + keys), SHORT_TIME);
    }

    private void heldLock() throws IOException, InterruptedException {
        var command = shared.command(user, "exec flock -x -F genv.lock sleep 600");
        try (var _ = Child.running(command, Map.of("PATH", "/usr/bin:/bin"))) {
            Thread.sleep(randomTime());
        }
    }

    /** The processes share the pages of their arguments. */
    private void largeArguments() throws IOException, InterruptedException {
        var script = "exec perl -e 'for (1..100) { last unless fork } sleep 600' kernel-$(head -c 100000 /dev/zero | tr"
                + " '\\0' k)";
        var own = "arguments-" + user;
        try (var child = Child.running(shared.command(user, script), Map.of("PATH", "/usr/bin:/bin"))) {
            shared.addTemporarily(
                    user,
                    files -> files.env(own, uid(user), username(user), null, List.of(), List.of("kernel-" + own)),
                    randomTime());
            child.closeWithDescendants();
        }
    }

    private void slowConnections() throws IOException, InterruptedException {
        var sockets = new ArrayList<Socket>();
        try {
            for (var i = 0; i < 200; i++) {
                var port =
                        i % 2 == 0 ? shared.service().port() : shared.service().managementPort();
                sockets.add(connect(port, "GET /violations HTTP/1.1\r\n"));
            }
            Thread.sleep(randomTime());
        } finally {
            for (var socket : sockets) {
                socket.close();
            }
        }
    }

    private void largePlan() throws IOException, InterruptedException {
        var body = "{\"snapshots\": {\"h\": {\"processes\": [" + "[],".repeat(1_000_000) + "[]]}}}";
        var head =
                "POST /plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                        .formatted(body.length());
        try (var _ = connect(shared.service().port(), head + body)) {
            Thread.sleep(SHORT_TIME);
        }
    }

    /** Opens a connection and sends the text, as far as the service reads it. */
    private static Socket connect(int port, String request) throws IOException {
        var socket = new Socket(InetAddress.getLoopbackAddress(), port);
        try {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            // The service may close a connection at any time.
        }
        return socket;
    }
}
