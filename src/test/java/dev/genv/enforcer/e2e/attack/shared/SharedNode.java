package dev.genv.enforcer.e2e.attack.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * A node that three honest users and three hostile ones share. Each honest user has one environment with one device and a job
 * that never breaks a rule: one that names its environment, one of genv's SDK that only its entry lists, and one of a
 * container, under another uid. Each hostile user has an environment with one device, too; the last two devices are free.
 */
final class SharedNode implements Closeable {
    static final int HONEST_USERS = 3;
    static final int HOSTILE_USERS = 3;
    static final int DEVICES = HONEST_USERS + HOSTILE_USERS + 2;
    private static final int FIRST_HONEST_UID = 54_010;
    private static final int CONTAINER_UID = 54_020;
    private static final int FIRST_HOSTILE_UID = 54_030;
    private static final Pattern PID = Pattern.compile(" pid=([0-9]+) ");

    final Node node;
    private final Node.Service service;
    private final ServiceClient serviceClient;
    private final Map<Object, Contribution> contributions = new LinkedHashMap<>();
    private final List<Child> shells = new ArrayList<>();
    private final List<Child> jobs = new ArrayList<>();
    private int drafts;
    /** How much of the log was checked. */
    private long checkedLength;

    /** A change of the state for as long as a hostile action lasts. */
    interface Contribution {
        void addTo(StateFiles files) throws IOException;
    }

    SharedNode(Node node) throws IOException {
        this.node = node;
        Files.setPosixFilePermissions(node.directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(node.stateDirectory, PosixFilePermissions.fromString("rwxrwxrwx"));
        node.gpus.gpus(DEVICES);
        for (var user = 0; user < HONEST_USERS + HOSTILE_USERS; user++) {
            shells.add(Child.ofUser(uid(user)));
        }
        jobs.add(Child.ofUser(uid(0), Map.of("GENV_ENVIRONMENT_ID", eid(0))));
        jobs.add(Child.ofUser(uid(1)));
        jobs.add(Child.ofUser(CONTAINER_UID, Map.of("GENV_ENVIRONMENT_ID", eid(2))));
        writeAs(0);
        for (var user = 0; user < HONEST_USERS; user++) {
            use(user, jobs.get(user), 900);
        }
        service = node.set("NON_ENV_PROCESSES", "enforce")
                .set("INACTIVE_ENV_PROCESSES", "enforce")
                .set("MAX_DEVICES_PER_USER", 1)
                .set("LOCK_TIMEOUT", "300ms")
                // On a slow machine short edits of another user's entries last longer, and their times add up.
                .set("GRACE", "60s")
                .startService();
        serviceClient = new ServiceClient(service);
        serviceClient.awaitObservation();
    }

    /** Users have numbers from 0: first the honest ones, then the hostile ones. */
    static int uid(int user) {
        return user < HONEST_USERS ? FIRST_HONEST_UID + user : FIRST_HOSTILE_UID + user - HONEST_USERS;
    }

    static String eid(int user) {
        return "env-" + user;
    }

    static String username(int user) {
        return "user-" + user;
    }

    int shellPid(int user) {
        return shells.get(user).pid();
    }

    int jobPid(int user) {
        return jobs.get(user).pid();
    }

    Node.Service service() {
        return service;
    }

    /** The processes that an honest environment lists. */
    Integer[] pids(int user) {
        return user == 1 ? new Integer[] {shellPid(1), jobPid(1)} : new Integer[] {shellPid(user)};
    }

    /** Lists a process on a device, with its memory in MiB. */
    synchronized void use(int device, Child process, int memory) throws IOException {
        node.gpus.process(device, process.pid(), Integer.toString(memory));
    }

    /** Removes processes that have exited from the GPUs. */
    synchronized void forgetEndedProcesses() throws IOException {
        node.gpus.retain(line -> Files.exists(Path.of("/proc", line.split(", ", -1)[1])));
    }

    /** Changes the state for a while: a process of the user writes it, with the changes of the other users. */
    void addTemporarily(int user, Contribution contribution, Duration length) throws IOException, InterruptedException {
        var key = new Object();
        synchronized (contributions) {
            contributions.put(key, contribution);
            writeAs(user);
        }
        Thread.sleep(length);
        synchronized (contributions) {
            contributions.remove(key);
            writeAs(user);
        }
    }

    /** Replaces a file of the state as the user, and restores the state after that time. */
    void overwriteTemporarily(int user, String file, String content, Duration length)
            throws IOException, InterruptedException {
        synchronized (contributions) {
            write(user, file, content);
        }
        restoreAfter(user, length);
    }

    /** Runs a script of the user in the state directory, and restores the state after that time. */
    void runTemporarily(int user, String script, Duration length) throws IOException, InterruptedException {
        synchronized (contributions) {
            Programs.run(command(user, script));
        }
        restoreAfter(user, length);
    }

    private void restoreAfter(int user, Duration length) throws IOException, InterruptedException {
        Thread.sleep(length);
        synchronized (contributions) {
            Programs.run(command(
                    user, "if [ -d genv.lock ] || [ -L genv.lock ] || [ -p genv.lock ]; then rm -rf genv.lock; fi"));
            writeAs(user);
        }
    }

    /** Returns a copy of the state of all users before an attack. */
    StateFiles validState() {
        var files = new StateFiles(node.stateDirectory);
        for (var user = 0; user < HONEST_USERS + HOSTILE_USERS; user++) {
            var capacity = user == 0 ? "1000mi" : null;
            files.env(eid(user), uid(user), username(user), capacity, pids(user))
                    .device(user, eid(user));
        }
        return files.device(DEVICES - 2).device(DEVICES - 1);
    }

    private void writeAs(int user) throws IOException {
        var files = validState();
        for (var contribution : contributions.values()) {
            contribution.addTo(files);
        }
        write(user, "envs.json", files.envsJson());
        write(user, "devices.json", files.devicesJson());
    }

    private void write(int user, String file, String content) throws IOException {
        var draft = Files.writeString(node.directory.resolve("draft-" + drafts++), content);
        Programs.run(command(
                user,
                "if [ -d %1$s ]; then rm -rf %1$s; fi; cat %2$s >new.%3$d && mv -fT new.%3$d %1$s"
                        .formatted(file, draft, user)));
        Files.delete(draft);
    }

    List<String> command(int user, String script) {
        return Programs.asUser(uid(user), "sh", "-c", "cd %s && umask 0 && %s".formatted(node.stateDirectory, script));
    }

    /**
     * Waits for another cycle, and checks what was logged since the last check.
     *
     * @return how many processes of hostile users were signalled in that time
     */
    long assertHonestJobsUnaffected() throws IOException {
        assertThat(service.process().isAlive()).as("the service runs").isTrue();
        serviceClient.awaitNext(serviceClient.observe());
        var honest = jobs.stream().map(Child::pid).toList();
        var actions = newActions();
        assertThat(actions.stream().filter(line -> honest.contains(pid(line)) || isHonestDetachment(line)))
                .isEmpty();
        assertThat(jobs).allMatch(Child::isAlive);
        return actions.stream().filter(line -> pid(line) > 0).count();
    }

    /** Returns the lines about processes signalled and devices detached since the last call. */
    private List<String> newActions() throws IOException {
        try (var file = new RandomAccessFile(service.out().toFile(), "r")) {
            file.seek(checkedLength);
            var bytes = new byte[Math.toIntExact(file.length() - checkedLength)];
            file.readFully(bytes);
            var text = new String(bytes, StandardCharsets.US_ASCII);
            var whole = text.substring(0, text.lastIndexOf('\n') + 1);
            checkedLength += whole.length();
            return whole.lines()
                    .filter(line -> line.contains("outcome=signalled") || line.contains("outcome=detached"))
                    .toList();
        }
    }

    /** Returns the pid in a line; 0 if there is none. */
    private static int pid(String line) {
        var match = PID.matcher(line);
        return match.find() ? Integer.parseInt(match.group(1)) : 0;
    }

    /** Waits until a process of a hostile user that breaks a rule is terminated. */
    void assertProcessOutsideEnvironmentsIsTerminated() throws IOException {
        try (var process = Child.ofUser(uid(HONEST_USERS))) {
            use(DEVICES - 1, process, 1);
            await().until(() -> !process.isAlive());
        }
    }

    private static boolean isHonestDetachment(String line) {
        return pid(line) == 0
                && IntStream.range(0, HONEST_USERS)
                        .anyMatch(user -> line.contains("environment=\"%s\"".formatted(eid(user))));
    }

    @Override
    public void close() {
        jobs.forEach(Child::close);
        shells.forEach(Child::close);
    }
}
