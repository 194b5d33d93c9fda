package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A node that bob and mallory share. Bob's environment has device 0 and a job on it, mallory's has device 1; device 2 is
 * nobody's. Nobody may have more than one device. Root has files of his own.
 */
final class Scene implements Closeable {
    static final String BOBS = "bobs";
    static final String HERS = "hers";
    static final String BOB = "bob";
    static final String MALLORY = "mallory";
    private static final Duration PATIENCE = HANG;
    private static final Duration GRACE = Duration.ofSeconds(3);
    /** More than the grace lasts. */
    private static final int LOOKS = 6;

    final Node node;
    final Path rootsFiles;
    private final Map<String, List<Object>> rootsFilesBefore;
    private final Child bobsShell;
    private final Child herShell;
    private final List<Child> children = new ArrayList<>();
    private Node.Service service;
    private Face face;
    private Child bobsJob;
    private Child herProcess;

    /** What came of an attack, as it was seen from outside. */
    record Outcome(Attack attack, Attack.Bob bob, boolean rootsFilesAreAsBefore, Attack.Hers hers, Set<String> told) {}

    /** On this node, which whoever made it closes. */
    Scene(Node node) throws IOException {
        this.node = node;
        // Others get through it, but nobody else may write in it: the service would not trust the tool there.
        Files.setPosixFilePermissions(node.directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        node.gpus.gpus(3);
        rootsFiles = Files.createDirectory(node.directory.resolve("root"));
        for (var name : List.of("envs.json", "devices.json", "genv.lock", ".genv-enforcer.lock")) {
            Files.writeString(rootsFiles.resolve(name), "root's own " + name);
        }
        rootsFilesBefore = rootsFilesNow();
        bobsShell = add(Child.ofUser(People.BOB));
        bobsJob = add(Child.ofUser(People.BOB, Map.of("GENV_ENVIRONMENT_ID", BOBS)));
        herShell = add(Child.ofUser(People.MALLORY));
        write(honest());
        node.gpus.process(0, bobsJob.pid(), "900");
        node.set("NON_ENV_PROCESSES", "enforce")
                .set("INACTIVE_ENV_PROCESSES", "enforce")
                .set("MAX_DEVICES_PER_USER", 1)
                .set("STATE_CHANGE_GRACE", GRACE.toSeconds() + "s")
                .set("LOCK_TIMEOUT", "300ms");
        service = node.serve();
        face = new Face(service);
    }

    /** The state as it is before anybody attacks; what it gives may be changed. */
    StateFiles honest() {
        return new StateFiles(node.stateDirectory)
                .env(BOBS, People.BOB, BOB, "1000mi", bobsShell())
                .env(HERS, People.MALLORY, MALLORY, null, herShell())
                .device(0, BOBS)
                .device(1, HERS)
                .device(2);
    }

    int bobsShell() {
        return bobsShell.pid();
    }

    int bobsJob() {
        return bobsJob.pid();
    }

    int herShell() {
        return herShell.pid();
    }

    /** She writes both state files, in their places. */
    void sheWrites(StateFiles files) throws IOException {
        sheWrites("envs.json", files.envsJson());
        sheWrites("devices.json", files.devicesJson());
    }

    void sheWrites(String file, String content) throws IOException {
        var draft = Files.writeString(node.directory.resolve("draft"), content);
        sheRuns("cat %s >%s".formatted(draft, file));
    }

    /** She runs that in the state directory, to its end. */
    void sheRuns(String script) throws IOException {
        var process = new ProcessBuilder(asMallory(script)).inheritIO().start();
        await().until(() -> !process.isAlive());
        assertThat(process.exitValue()).as(script).isZero();
    }

    /** She starts that in the state directory, and the last of it is one program that stays. */
    Child sheStarts(String script, Map<String, String> variables, String becomes) throws IOException {
        var all = new HashMap<>(variables);
        all.put("PATH", "/usr/bin:/bin");
        var child = add(Child.running(asMallory(script), all));
        await().until(() -> child.command().equals(becomes));
        return child;
    }

    /** A process of hers on a GPU; what becomes of it is what is looked at. */
    void herProcess(Child process, int gpu, int memory) throws IOException {
        herProcess = process;
        node.gpus.process(gpu, process.pid(), Integer.toString(memory));
    }

    void herProcess(Map<String, String> variables, int gpu, int memory) throws IOException {
        herProcess(add(Child.ofUser(People.MALLORY, variables)), gpu, memory);
    }

    /** From now on bob's job is one that names no environment, as with genv's own SDK; his environment lists its pid. */
    void bobUsesTheSdk() throws IOException {
        bobsJob.close();
        bobsJob = add(Child.ofUser(People.BOB));
        write(honest().env(BOBS, People.BOB, BOB, "1000mi", bobsShell(), bobsJob()));
        node.gpus.process(0, bobsJob(), "10");
        await().atMost(PATIENCE).until(() -> face.look().problems().contains("membership_unknown"));
    }

    /** Waits until something is said about bob's job; then it has not been touched yet. */
    void awaitThatBobIsTold() {
        await().atMost(PATIENCE)
                .until(() -> service.said().stream()
                        .anyMatch(line ->
                                line.contains("pid=%d ".formatted(bobsJob.pid())) && line.contains("skipped_grace")));
    }

    /** Waits until there is a file of that name in the state directory, which a process of hers makes. */
    void awaitFile(String name) {
        await().atMost(PATIENCE).until(() -> Files.exists(node.stateDirectory.resolve(name)));
    }

    Outcome suffer(Attack attack) throws Exception {
        face.awaitGood();
        attack.step().run(this);
        var told = new TreeSet<String>();
        var look = face.look();
        var deadline = System.nanoTime() + PATIENCE.toNanos();
        for (var looks = 0; looks < LOOKS || !isAsExpected(attack, told); looks++) {
            assertThat(System.nanoTime())
                    .as("bob's job %s, her process %s, told %s", bobsJob.isAlive(), herProcess.isAlive(), told)
                    .isLessThan(deadline);
            look = face.after(look);
            told.addAll(look.problems());
            face.json("/violations")
                    .forEach(violation -> told.add(violation.path("rule").asText()));
            if (!attack.told().contains("kernels_unknown")) {
                told.remove("kernels_unknown"); // the search for kernels has a time limit, which a busy machine may reach
            }
        }
        assertThat(face.status("/q/health/live")).as("liveness").isEqualTo(200);
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
        assertThat(rootsFilesNow()).as("root's files").isEqualTo(rootsFilesBefore);
        assertThat(service.said()).as("the log").noneMatch(line -> line.contains("\u001b") || line.contains("\u202e"));
        assertThat(told).isEqualTo(new TreeSet<>(attack.told()));
        var bob = outcomeForBob(attack);
        var asBefore = rootsFilesNow().equals(rootsFilesBefore);
        return new Outcome(attack, bob, asBefore, herProcess.isAlive() ? Attack.Hers.SPARED : Attack.Hers.ENDED, told);
    }

    /** What is in each, and when it was changed. */
    private Map<String, List<Object>> rootsFilesNow() throws IOException {
        var now = new TreeMap<String, List<Object>>();
        try (var files = Files.list(rootsFiles)) {
            for (var file : files.toList()) {
                now.put(
                        file.getFileName().toString(),
                        List.of(Files.readString(file), Files.getAttribute(file, "unix:ctime")));
            }
        }
        return now;
    }

    private boolean isAsExpected(Attack attack, Set<String> told) {
        return bobsJob.isAlive() == (attack.bob() == Attack.Bob.UNTOUCHED)
                && herProcess.isAlive() == (attack.hers() == Attack.Hers.SPARED)
                && told.containsAll(attack.told());
    }

    private Attack.Bob outcomeForBob(Attack attack) throws IOException {
        var actions = service.said().stream()
                .filter(line -> line.contains("action=") && line.contains("pid=%d ".formatted(bobsJob.pid())))
                .toList();
        if (bobsJob.isAlive()) {
            assertThat(actions).noneMatch(line -> line.contains("outcome=signalled"));
            assertThat(service.said())
                    .noneMatch(line ->
                            line.contains("environment=\"%s\"".formatted(BOBS)) && line.contains("outcome=detached"));
            return Attack.Bob.UNTOUCHED;
        }
        assertThat(actions.getFirst()).contains("outcome=skipped_grace");
        if (attack.bob() == Attack.Bob.ENDED_AFTER_THE_START) {
            return attack.bob();
        }
        var changes = face.json("/violations").findValues("state_change");
        assertThat(changes).anySatisfy(change -> {
            assertThat(change.path("before").asText()).isNotEmpty();
            assertThat(change.path("after").asText()).isNotEmpty();
        });
        return Attack.Bob.ENDED_AFTER_THE_GRACE;
    }

    private void write(StateFiles files) throws IOException {
        files.write();
        Files.setPosixFilePermissions(node.stateDirectory, PosixFilePermissions.fromString("rwxrwxrwx"));
        for (var name : List.of("envs.json", "devices.json")) {
            Files.setPosixFilePermissions(
                    node.stateDirectory.resolve(name), PosixFilePermissions.fromString("rw-rw-rw-"));
        }
    }

    private Child add(Child child) {
        children.add(child);
        return child;
    }

    private List<String> asMallory(String script) {
        var uid = Integer.toString(People.MALLORY);
        return List.of(
                "setpriv",
                "--reuid=" + uid,
                "--regid=" + uid,
                "--clear-groups",
                "sh",
                "-c",
                "cd %s && %s".formatted(node.stateDirectory, script));
    }

    /** A process of any user, with exactly these variables. */
    Child starts(int uid, Map<String, String> variables) throws IOException {
        return add(Child.ofUser(uid, variables));
    }

    /** A process that root starts, and that is this program in the end. */
    Child rootStarts(List<String> command, Map<String, String> variables, String becomes) throws IOException {
        var child = add(Child.running(command, variables));
        await().until(() -> child.command().equals(becomes));
        return child;
    }

    /** The service ends, and another one is started on the same node. */
    void restartService() throws Exception {
        restartServiceAfter(_ -> {});
    }

    /** From now on bob's job runs under another uid than his own, as many a container's does. */
    void bobsJobHasUid(int uid) throws IOException {
        bobsJob.close();
        bobsJob = add(Child.ofUser(uid, Map.of("GENV_ENVIRONMENT_ID", BOBS)));
        node.gpus.process(0, bobsJob(), "900");
        awaitNextObservation();
    }

    /** Waits for an observation that began after this was called. */
    void awaitNextObservation() throws IOException {
        face.after(face.after(face.look()));
    }

    /** The same, and that is done in between. */
    void restartServiceAfter(Attack.Step step) throws Exception {
        service.stop();
        step.run(this);
        service = node.serve();
        face = new Face(service);
        face.awaitObservation();
    }

    /** Bob's job is over, and no observation that still shows it is under way. */
    void bobEndsHisJob() throws IOException {
        bobsJob.close();
        awaitNextObservation();
    }

    /** Bob's job is another one, which is on no GPU yet. */
    void bobStarts(Map<String, String> variables) throws IOException {
        bobsJob = add(Child.ofUser(People.BOB, variables));
    }

    /** From now on bob's job is on that GPU. */
    void bobsJobReaches(int gpu) throws IOException {
        node.gpus.process(gpu, bobsJob(), "10");
    }

    @Override
    public void close() {
        children.forEach(Child::close);
    }

    /** Waits until the service has observed what stands in the state now. */
    void awaitObservation() throws IOException {
        face.after(face.after(face.look()));
    }
}
