package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.attack.Attack;
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
 * A node that bob and the attacker share. Bob's environment has device 0 and a job on it, the attacker's has device 1; device 2 is
 * nobody's. Nobody may have more than one device. Root has files of his own.
 */
public final class TwoUserNode implements Closeable {
    public static final String VICTIM_ENVIRONMENT = "bobs";
    public static final String ATTACKER_ENVIRONMENT = "hers";
    public static final String VICTIM_NAME = "bob";
    public static final String ATTACKER_NAME = "attacker";
    private static final Duration TIMEOUT = HANG;
    private static final Duration GRACE = Duration.ofSeconds(3);
    /** More than the grace lasts. */
    private static final int OBSERVATIONS = 6;

    public final Node node;
    public final Path rootFiles;
    private final Map<String, List<Object>> rootFilesBefore;
    private final Child victimShell;
    private final Child attackerShell;
    private final List<Child> children = new ArrayList<>();
    private Node.Service service;
    private ServiceClient serviceClient;
    private Child victimJob;
    private Child attackerProcess;

    /** What came of an attack, as it was seen from outside. */
    public record Outcome(
            Attack attack,
            Attack.VictimOutcome victimOutcome,
            boolean rootFilesUnchanged,
            Attack.AttackerOutcome attackerOutcome,
            Set<String> reported) {}

    /** Uses this node; its creator closes it. */
    public TwoUserNode(Node node) throws IOException {
        this.node = node;
        // Others may pass through it, but not write in it: otherwise the service would not trust the tool.
        Files.setPosixFilePermissions(node.directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        node.gpus.gpus(3);
        rootFiles = Files.createDirectory(node.directory.resolve("root"));
        for (var name : List.of("envs.json", "devices.json", "genv.lock", ".genv-enforcer.lock")) {
            Files.writeString(rootFiles.resolve(name), "root's own " + name);
        }
        rootFilesBefore = readRootFiles();
        victimShell = add(Child.ofUser(TestUsers.HONEST_UID));
        victimJob = add(Child.ofUser(TestUsers.HONEST_UID, Map.of("GENV_ENVIRONMENT_ID", VICTIM_ENVIRONMENT)));
        attackerShell = add(Child.ofUser(TestUsers.ATTACKER_UID));
        write(validState());
        node.gpus.process(0, victimJob.pid(), "900");
        node.set("NON_ENV_PROCESSES", "enforce")
                .set("INACTIVE_ENV_PROCESSES", "enforce")
                .set("MAX_DEVICES_PER_USER", 1)
                .set("STATE_CHANGE_GRACE", GRACE.toSeconds() + "s")
                .set("LOCK_TIMEOUT", "300ms");
        service = node.startService();
        serviceClient = new ServiceClient(service);
    }

    /** The state before an attack; the result may be changed. */
    public StateFiles validState() {
        return new StateFiles(node.stateDirectory)
                .env(VICTIM_ENVIRONMENT, TestUsers.HONEST_UID, VICTIM_NAME, "1000mi", victimShell())
                .env(ATTACKER_ENVIRONMENT, TestUsers.ATTACKER_UID, ATTACKER_NAME, null, attackerShell())
                .device(0, VICTIM_ENVIRONMENT)
                .device(1, ATTACKER_ENVIRONMENT)
                .device(2);
    }

    public int victimShell() {
        return victimShell.pid();
    }

    public int victimJob() {
        return victimJob.pid();
    }

    public int attackerShell() {
        return attackerShell.pid();
    }

    /** She writes both state files, in their places. */
    public void writeAsAttacker(StateFiles files) throws IOException {
        writeAsAttacker("envs.json", files.envsJson());
        writeAsAttacker("devices.json", files.devicesJson());
    }

    public void writeAsAttacker(String file, String content) throws IOException {
        var draft = Files.writeString(node.directory.resolve("draft"), content);
        runAsAttacker("cat %s >%s".formatted(draft, file));
    }

    /** She runs that in the state directory, to its end. */
    public void runAsAttacker(String script) throws IOException {
        var process = new ProcessBuilder(attackerCommand(script)).inheritIO().start();
        await().until(() -> !process.isAlive());
        assertThat(process.exitValue()).as(script).isZero();
    }

    /** She starts that in the state directory, and the last of it is one program that stays. */
    public Child startAsAttacker(String script, Map<String, String> variables, String becomes) throws IOException {
        var all = new HashMap<>(variables);
        all.put("PATH", "/usr/bin:/bin");
        var child = add(Child.running(attackerCommand(script), all));
        await().until(() -> child.command().equals(becomes));
        return child;
    }

    /** A process of hers on a GPU; what becomes of it is what is looked at. */
    public void useGpuAsAttacker(Child process, int gpu, int memory) throws IOException {
        attackerProcess = process;
        node.gpus.process(gpu, process.pid(), Integer.toString(memory));
    }

    public void useGpuAsAttacker(Map<String, String> variables, int gpu, int memory) throws IOException {
        useGpuAsAttacker(add(Child.ofUser(TestUsers.ATTACKER_UID, variables)), gpu, memory);
    }

    /** From now on bob's job is one that names no environment, as with genv's own SDK; his environment lists its pid. */
    public void restartVictimJobThroughSdk() throws IOException {
        victimJob.close();
        victimJob = add(Child.ofUser(TestUsers.HONEST_UID));
        write(validState()
                .env(VICTIM_ENVIRONMENT, TestUsers.HONEST_UID, VICTIM_NAME, "1000mi", victimShell(), victimJob()));
        node.gpus.process(0, victimJob(), "10");
        await().atMost(TIMEOUT).until(() -> serviceClient.observe().problems().contains("membership_unknown"));
    }

    /** Waits until something is said about bob's job; then it has not been touched yet. */
    public void awaitGraceOfVictimJob() {
        await().atMost(TIMEOUT)
                .until(() -> service.outputLines().stream()
                        .anyMatch(line ->
                                line.contains("pid=%d ".formatted(victimJob.pid())) && line.contains("skipped_grace")));
    }

    /** Waits until there is a file of that name in the state directory, which a process of hers makes. */
    public void awaitFile(String name) {
        await().atMost(TIMEOUT).until(() -> Files.exists(node.stateDirectory.resolve(name)));
    }

    public Outcome runAttack(Attack attack) throws Exception {
        serviceClient.awaitHealthy();
        attack.step().run(this);
        var reported = new TreeSet<String>();
        var observation = serviceClient.observe();
        var deadline = System.nanoTime() + TIMEOUT.toNanos();
        for (var observations = 0; observations < OBSERVATIONS || !isAsExpected(attack, reported); observations++) {
            assertThat(System.nanoTime())
                    .as(
                            "bob's job %s, her process %s, told %s",
                            victimJob.isAlive(), attackerProcess.isAlive(), reported)
                    .isLessThan(deadline);
            observation = serviceClient.awaitNext(observation);
            reported.addAll(observation.problems());
            serviceClient
                    .json("/violations")
                    .forEach(violation -> reported.add(violation.path("rule").asText()));
            if (!attack.reported().contains("kernels_unknown")) {
                reported.remove(
                        "kernels_unknown"); // the search for kernels has a time limit, which a busy machine may reach
            }
        }
        assertThat(serviceClient.status("/q/health/live")).as("liveness").isEqualTo(200);
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
        assertThat(readRootFiles()).as("root's files").isEqualTo(rootFilesBefore);
        assertThat(service.outputLines())
                .as("the log")
                .noneMatch(line -> line.contains("\u001b") || line.contains("\u202e"));
        assertThat(reported).isEqualTo(new TreeSet<>(attack.reported()));
        var honestUser = victimOutcome(attack);
        var asBefore = readRootFiles().equals(rootFilesBefore);
        return new Outcome(
                attack,
                honestUser,
                asBefore,
                attackerProcess.isAlive() ? Attack.AttackerOutcome.NOT_TERMINATED : Attack.AttackerOutcome.TERMINATED,
                reported);
    }

    /** What is in each, and when it was changed. */
    private Map<String, List<Object>> readRootFiles() throws IOException {
        var now = new TreeMap<String, List<Object>>();
        try (var files = Files.list(rootFiles)) {
            for (var file : files.toList()) {
                now.put(
                        file.getFileName().toString(),
                        List.of(Files.readString(file), Files.getAttribute(file, "unix:ctime")));
            }
        }
        return now;
    }

    private boolean isAsExpected(Attack attack, Set<String> reported) {
        return victimJob.isAlive() == (attack.victimOutcome() == Attack.VictimOutcome.UNAFFECTED)
                && attackerProcess.isAlive() == (attack.attackerOutcome() == Attack.AttackerOutcome.NOT_TERMINATED)
                && reported.containsAll(attack.reported());
    }

    private Attack.VictimOutcome victimOutcome(Attack attack) throws IOException {
        var actions = service.outputLines().stream()
                .filter(line -> line.contains("action=") && line.contains("pid=%d ".formatted(victimJob.pid())))
                .toList();
        if (victimJob.isAlive()) {
            assertThat(actions).noneMatch(line -> line.contains("outcome=signalled"));
            assertThat(service.outputLines())
                    .noneMatch(line -> line.contains("environment=\"%s\"".formatted(VICTIM_ENVIRONMENT))
                            && line.contains("outcome=detached"));
            return Attack.VictimOutcome.UNAFFECTED;
        }
        assertThat(actions.getFirst()).contains("outcome=skipped_grace");
        if (attack.victimOutcome() == Attack.VictimOutcome.TERMINATED_AFTER_START_GRACE) {
            return attack.victimOutcome();
        }
        var changes = serviceClient.json("/violations").findValues("state_change");
        assertThat(changes).anySatisfy(change -> {
            assertThat(change.path("before").asText()).isNotEmpty();
            assertThat(change.path("after").asText()).isNotEmpty();
        });
        return Attack.VictimOutcome.TERMINATED_AFTER_GRACE;
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

    private List<String> attackerCommand(String script) {
        var uid = Integer.toString(TestUsers.ATTACKER_UID);
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
    public Child startAs(int uid, Map<String, String> variables) throws IOException {
        return add(Child.ofUser(uid, variables));
    }

    /** A process that root starts, and that is this program in the end. */
    public Child startAsRoot(List<String> command, Map<String, String> variables, String becomes) throws IOException {
        var child = add(Child.running(command, variables));
        await().until(() -> child.command().equals(becomes));
        return child;
    }

    /** The service ends, and another one is started on the same node. */
    public void restartService() throws Exception {
        restartServiceAfter(_ -> {});
    }

    /** From now on bob's job runs under another uid than his own, as many a container's does. */
    public void restartVictimJobAs(int uid) throws IOException {
        victimJob.close();
        victimJob = add(Child.ofUser(uid, Map.of("GENV_ENVIRONMENT_ID", VICTIM_ENVIRONMENT)));
        node.gpus.process(0, victimJob(), "900");
        awaitTwoObservations();
    }

    /** Waits for an observation that began after this was called. */
    public void awaitTwoObservations() throws IOException {
        serviceClient.awaitNext(serviceClient.awaitNext(serviceClient.observe()));
    }

    /** The same, and that is done in between. */
    public void restartServiceAfter(Attack.Step step) throws Exception {
        service.stop();
        step.run(this);
        service = node.startService();
        serviceClient = new ServiceClient(service);
        serviceClient.awaitObservation();
    }

    /** Bob's job is over, and no observation that still shows it is under way. */
    public void closeVictimJob() throws IOException {
        victimJob.close();
        awaitTwoObservations();
    }

    /** Bob's job is another one, which is on no GPU yet. */
    public void startVictimJob(Map<String, String> variables) throws IOException {
        victimJob = add(Child.ofUser(TestUsers.HONEST_UID, variables));
    }

    /** From now on bob's job is on that GPU. */
    public void useGpuAsVictim(int gpu) throws IOException {
        node.gpus.process(gpu, victimJob(), "10");
    }

    @Override
    public void close() {
        children.forEach(Child::close);
    }

    /** Waits until the service has observed what stands in the state now. */
    public void awaitObservation() throws IOException {
        serviceClient.awaitNext(serviceClient.awaitNext(serviceClient.observe()));
    }
}
