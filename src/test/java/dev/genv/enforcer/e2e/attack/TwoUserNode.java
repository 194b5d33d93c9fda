package dev.genv.enforcer.e2e.attack;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.FileVersions;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import dev.genv.enforcer.testsupport.linux.TestProcess;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A node that bob and the attacker share. Bob's environment has device 0 and a job on it, the attacker's environment has device 1,
 * and device 2 is free. No user may have more than one device. Root has files of its own.
 */
final class TwoUserNode implements Closeable {
    static final String VICTIM_ENVIRONMENT = "bobs";
    static final String ATTACKER_ENVIRONMENT = "hers";
    static final String VICTIM_NAME = "bob";
    static final String ATTACKER_NAME = "attacker";
    /** Bob's, in some attacks. */
    static final String NEW_ENVIRONMENT = "new";

    static final Map<String, String> IN_VICTIM_ENVIRONMENT = inEnvironment(VICTIM_ENVIRONMENT);
    static final Map<String, String> IN_ATTACKER_ENVIRONMENT = inEnvironment(ATTACKER_ENVIRONMENT);
    static final Map<String, String> OUTSIDE = Map.of("HOME", "/");
    private static final String GRACE = "3s";

    final Node node;
    final FakeNvidiaSmi gpus;
    final Path directory;
    final Path stateDirectory;
    /** Files of root with the names of genv's files, which no attack may change. */
    final Path rootFolder;

    private final Map<String, List<Object>> rootFiles;
    final int victimShell;
    final int attackerShell;
    Node.Service service;
    ServiceClient serviceClient;
    private final List<TestProcess> children = new ArrayList<>();
    private TestProcess victimJob;
    private TestProcess attackerProcess;

    /** Uses this node; its creator closes it. */
    TwoUserNode(Node node) throws IOException {
        this.node = node;
        gpus = node.gpus;
        directory = node.directory;
        stateDirectory = node.stateDirectory;
        // Other users may pass through it and not write to it: otherwise the service would not trust the tool.
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        gpus.gpus(3);
        rootFolder = Files.createDirectory(directory.resolve("root"));
        for (var name : List.of("envs.json", "devices.json", "genv.lock", ".genv-enforcer.lock")) {
            Files.writeString(rootFolder.resolve(name), "root's own " + name);
        }
        rootFiles = FileVersions.in(rootFolder);
        victimShell = startAs(TestUsers.HONEST_UID, Map.of()).pid();
        victimJob = add(Child.ofUser(TestUsers.HONEST_UID, IN_VICTIM_ENVIRONMENT));
        attackerShell = startAs(TestUsers.ATTACKER_UID, Map.of()).pid();
        write(validState());
        gpus.process(0, victimJob.pid(), "900");
        node.set("NON_ENV_PROCESSES", "enforce")
                .set("INACTIVE_ENV_PROCESSES", "enforce")
                .set("MAX_DEVICES_PER_USER", 1)
                .set("GRACE", GRACE)
                .set("LOCK_TIMEOUT", "300ms");
        service = node.startService();
        serviceClient = new ServiceClient(service);
    }

    /** Returns a copy of the state before an attack. */
    StateFiles validState() {
        return new StateFiles(stateDirectory)
                .env(VICTIM_ENVIRONMENT, TestUsers.HONEST_UID, VICTIM_NAME, "1000mi", victimShell)
                .env(ATTACKER_ENVIRONMENT, TestUsers.ATTACKER_UID, ATTACKER_NAME, null, attackerShell)
                .device(0, VICTIM_ENVIRONMENT)
                .device(1, ATTACKER_ENVIRONMENT)
                .device(2);
    }

    /** The same with these pids of bob's environment. */
    StateFiles withVictimPids(Integer... pids) {
        return validState().env(VICTIM_ENVIRONMENT, TestUsers.HONEST_UID, VICTIM_NAME, "1000mi", pids);
    }

    /** The same with an environment in bob's name that has no capacity. */
    StateFiles withVictimsEnvironment(String eid, Integer... pids) {
        return validState().env(eid, TestUsers.HONEST_UID, VICTIM_NAME, null, pids);
    }

    /** The same with these pids of the attacker's environment. */
    StateFiles withAttackerEnvironment(Integer... pids) {
        return validState().env(ATTACKER_ENVIRONMENT, TestUsers.ATTACKER_UID, ATTACKER_NAME, null, pids);
    }

    static Map<String, String> inEnvironment(String eid) {
        return Map.of("GENV_ENVIRONMENT_ID", eid);
    }

    boolean areRootFilesUnchanged() throws IOException {
        return FileVersions.in(rootFolder).equals(rootFiles);
    }

    int victimJob() {
        return victimJob.pid();
    }

    boolean isVictimJobAlive() {
        return victimJob.isAlive();
    }

    boolean isAttackerProcessAlive() {
        return attackerProcess.isAlive();
    }

    /** Starts another job of bob, which is on no GPU yet. */
    void startVictimJob(Map<String, String> variables) throws IOException {
        victimJob = add(Child.ofUser(TestUsers.HONEST_UID, variables));
    }

    /** Replaces bob's job by one that is made by steps of this user, which is on no GPU yet. */
    SteppedProcess restartVictimJobAs(int uid, Map<String, String> variables, String... steps) throws IOException {
        closeVictimJob();
        var job = startSteps(uid, variables, steps);
        victimJob = job;
        return job;
    }

    /** Starts a process of any user that is made by steps, with exactly these variables. */
    SteppedProcess startSteps(int uid, Map<String, String> variables, String... steps) throws IOException {
        return add(SteppedProcess.ofUser(uid, stateDirectory, variables, steps));
    }

    /** Replaces bob's job by this one, which is on no GPU yet. */
    void restartVictimJobAs(Child job) throws IOException {
        closeVictimJob();
        victimJob = job;
    }

    /** Lists bob's job on a GPU. */
    void useGpuAsVictim(int gpu) throws IOException {
        gpus.process(gpu, victimJob(), "10");
    }

    /** Ends bob's job, and waits until no observation that shows it is under way. */
    void closeVictimJob() throws IOException {
        victimJob.close();
        awaitTwoObservations();
    }

    /** Replaces bob's job by one of genv's SDK: it names no environment, and bob's environment lists its pid. */
    void restartVictimJobThroughSdk() throws IOException {
        victimJob.close();
        victimJob = add(Child.ofUser(TestUsers.HONEST_UID));
        write(withVictimPids(victimShell, victimJob()));
        gpus.process(0, victimJob(), "10");
        awaitTwoObservations();
    }

    /** Replaces bob's job by one under another uid, as in many containers. */
    void restartVictimJobAs(int uid) throws IOException {
        victimJob.close();
        victimJob = add(Child.ofUser(uid, IN_VICTIM_ENVIRONMENT));
        gpus.process(0, victimJob(), "900");
        awaitTwoObservations();
    }

    /** Waits until the service reports that bob's job breaks a rule and has a grace period. */
    void awaitGraceOfVictimJob() {
        awaitLine("pid=%d ".formatted(victimJob.pid()), "skipped_grace");
    }

    /** Waits until a line of the service contains both texts. */
    void awaitLine(String one, String other) {
        await().until(() ->
                service.outputLines().stream().anyMatch(line -> line.contains(one) && line.contains(other)));
    }

    /** Writes state files that every user can write, as genv does. */
    private void write(StateFiles files) throws IOException {
        files.write();
        Files.setPosixFilePermissions(stateDirectory, PosixFilePermissions.fromString("rwxrwxrwx"));
        for (var name : List.of("envs.json", "devices.json")) {
            Files.setPosixFilePermissions(stateDirectory.resolve(name), PosixFilePermissions.fromString("rw-rw-rw-"));
        }
    }

    /** The attacker changes the state, and starts a process outside of all environments. */
    void writeAndStartStray(StateFiles files) throws IOException {
        writeAsAttacker(files);
        startStray();
    }

    /** The attacker starts a process outside of all environments on the device that no environment holds. */
    void startStray() throws IOException {
        useGpuAsAttacker(Map.of(), 2, 10);
    }

    /** Writes both state files in place, as the attacker. */
    void writeAsAttacker(StateFiles files) throws IOException {
        writeAsAttacker("envs.json", files.envsJson());
        writeAsAttacker("devices.json", files.devicesJson());
    }

    void writeAsAttacker(String file, String content) throws IOException {
        var draft = Files.writeString(directory.resolve("draft"), content);
        runAsAttacker("cat %s >%s".formatted(draft, file));
    }

    /** Runs a script of the attacker in the state directory, to its end. */
    void runAsAttacker(String script) throws IOException {
        Programs.run(attackerCommand(script));
    }

    /** Starts a script of the attacker in the state directory, which ends by executing the program {@code becomes}. */
    Child startAsAttacker(String script, Map<String, String> variables, String becomes) throws IOException {
        var all = new HashMap<>(variables);
        all.put("PATH", "/usr/bin:/bin");
        var child = add(Child.running(attackerCommand(script), all));
        await().until(() -> child.command().equals(becomes));
        return child;
    }

    /** The outcome of an attack is what happens to this process, which no GPU lists. */
    void setAttackerProcess(TestProcess process) {
        attackerProcess = process;
    }

    /** Lists a process of the attacker on a GPU, in MiB; the outcome of an attack is what happens to it. */
    void useGpuAsAttacker(TestProcess process, int gpu, int memory) throws IOException {
        setAttackerProcess(process);
        gpus.process(gpu, process.pid(), Integer.toString(memory));
    }

    void useGpuAsAttacker(Map<String, String> variables, int gpu, int memory) throws IOException {
        useGpuAsAttacker(add(Child.ofUser(TestUsers.ATTACKER_UID, variables)), gpu, memory);
    }

    /** Starts a process of any user, with exactly these variables. */
    Child startAs(int uid, Map<String, String> variables) throws IOException {
        return add(Child.ofUser(uid, variables));
    }

    /** Starts a process of root, which becomes this program. */
    Child startAsRoot(List<String> command, Map<String, String> variables, String becomes) throws IOException {
        var child = add(Child.running(command, variables));
        await().until(() -> child.command().equals(becomes));
        return child;
    }

    /** Waits for a file in the state directory that a process of the attacker creates. */
    void awaitFile(String name) {
        await().until(() -> Files.exists(stateDirectory.resolve(name)));
    }

    /** Waits for an observation that begins after this call. */
    void awaitTwoObservations() throws IOException {
        serviceClient.awaitNext(serviceClient.awaitNext(serviceClient.observe()));
    }

    /** Stops the service, and starts another one on the same node after this step. */
    void restartServiceAfter(Attack.Step step) throws Exception {
        service.stop();
        step.run(this);
        service = node.startService();
        serviceClient = new ServiceClient(service);
        serviceClient.awaitObservation();
    }

    <P extends TestProcess> P add(P child) {
        children.add(child);
        return child;
    }

    private List<String> attackerCommand(String script) {
        return Programs.asUser(TestUsers.ATTACKER_UID, "sh", "-c", "cd %s && %s".formatted(stateDirectory, script));
    }

    @Override
    public void close() {
        children.forEach(TestProcess::close);
    }
}
