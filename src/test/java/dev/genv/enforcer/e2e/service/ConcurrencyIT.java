package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Another program writes the state at full speed while the service detaches: under flock(2), it truncates the file and writes it again, as
 * genv does. It keeps a ledger, and compares the file with it whenever it has the lock. The service must change exactly what it reports:
 * no other user loses an attachment, no attachment reappears, and no process is terminated because of a partly written file.
 */
@Tag("long")
@Timeout(600)
class ConcurrencyIT extends NodeSuite {
    private static final int DEVICES = 8;
    private static final int MIN_ROUNDS = 100;
    /** Always has device 0. */
    private static final String STEADY = "steady";
    /** Users who have one device or none, and change it. */
    private static final List<String> MODEST = List.of("modest-1", "modest-2");
    /** Users who attach device after device, and detach none. */
    private static final List<String> GREEDY = List.of("greedy-1", "greedy-2");

    private static final List<String> USERS =
            Stream.of(List.of(STEADY), MODEST, GREEDY).flatMap(List::stream).toList();

    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd/MM/yyyy HH:mm:ss");
    private static final ObjectMapper JSON = new ObjectMapper();
    /** A pause as between two commands of a shell, in which a program that does not wait for the lock can get it. */
    private static final long PAUSE_NANOS = 200_000;

    private final Random random = new Random();
    /** The shells that keep the environments alive; each user's environment has the user's name. */
    private final Map<String, Child> shells = new TreeMap<>();

    /** The attachments of each device. */
    private final Map<Integer, List<Attachment>> ledger = new TreeMap<>();
    /** Detachments by the service, in the format of its log. */
    private final List<String> lost = new ArrayList<>();

    private LocalDateTime time = LocalDateTime.of(2026, 11, 20, 9, 22, 28);
    private int rounds;

    @AfterEach
    void closeShells() {
        shells.values().forEach(Child::close);
    }

    @Test
    void concurrentWritesLoseAndRestoreNothing() throws IOException {
        Requirements.root();
        for (var name : USERS) {
            shells.put(name, Child.ofUser(uid(name)));
        }
        for (var index = 0; index < DEVICES; index++) {
            ledger.put(index, new ArrayList<>());
        }
        attach(0, STEADY);
        write();
        try (var member = Child.ofUser(uid(STEADY), Map.of("GENV_ENVIRONMENT_ID", STEADY))) {
            node.gpus.gpus(DEVICES).process(0, member.pid(), "10");
            var service = node.set("MAX_DEVICES_PER_USER", 1)
                    // The service acts in the cycle that observes a violation.
                    .set("GRACE", "0s")
                    .set("NON_ENV_PROCESSES", "enforce")
                    .set("INACTIVE_ENV_PROCESSES", "enforce")
                    .startService();

            var end = System.nanoTime() + Duration.ofSeconds(repetitions(5, 60)).toNanos();
            while (System.nanoTime() < end || rounds <= MIN_ROUNDS || lost.isEmpty()) {
                writeRound();
            }
            await().until(this::isEveryUserWithinQuota);

            assertThat(member.isAlive()).isTrue();
            await().untilAsserted(() -> assertThat(detachments(service)).containsExactlyInAnyOrderElementsOf(lost));
            assertThat(service.outputLines())
                    .noneMatch(line -> line.contains("action=terminate"))
                    .noneMatch(line -> line.contains("state_unreadable"));
            System.out.printf("ConcurrencyIT: %d rounds, %d detachments%n", rounds, lost.size());
        }
    }

    private static int uid(String name) {
        return TestUsers.HONEST_UID + USERS.indexOf(name);
    }

    /** The detachments that the service reports. */
    private static List<String> detachments(Node.Service service) throws IOException {
        return service.outputLines().stream()
                .filter(line -> line.contains("action=detach") && line.contains("outcome=detached"))
                .map(line -> line.substring(line.indexOf("environment="), line.indexOf("signal=")))
                .toList();
    }

    private void writeRound() throws IOException {
        try (var _ = RealFlock.take(node.stateDirectory.resolve("genv.lock"))) {
            checkChanges();
            for (var name : MODEST) {
                ledger.values()
                        .forEach(attachments ->
                                attachments.removeIf(one -> one.eid().equals(name)));
                if (random.nextBoolean()) {
                    attach(random.nextInt(DEVICES), name);
                }
            }
            for (var name : GREEDY) {
                var device = random.nextInt(DEVICES);
                if (!held(name).contains(device)) {
                    attach(device, name);
                }
            }
            write();
            rounds++;
        }
        LockSupport.parkNanos(PAUSE_NANOS);
    }

    private boolean isEveryUserWithinQuota() throws IOException {
        try (var _ = RealFlock.take(node.stateDirectory.resolve("genv.lock"))) {
            checkChanges();
            return shells.keySet().stream().allMatch(name -> held(name).size() <= 1);
        }
    }

    private void checkChanges() throws IOException {
        var text = Files.readString(node.devicesJson());
        var now = read(text);
        assertThat(text).as("the file's form").isEqualTo(files(now).devicesJson());
        ledger.forEach((device, attachments) -> {
            var kept = new ArrayList<>(attachments);
            kept.retainAll(now.get(device));
            assertThat(now.get(device)).as("nothing new on device %d", device).isEqualTo(kept);
            attachments.removeAll(kept);
            for (var gone : attachments) {
                assertThat(gone.eid()).as("who lost device %d", device).isIn(GREEDY);
                lost.add("environment=\"%s\" devices=%d ".formatted(gone.eid(), device));
            }
            attachments.clear();
            attachments.addAll(kept);
        });
        if (rounds > 0) {
            assertThat(GREEDY).allSatisfy(name -> assertThat(held(name)).isNotEmpty());
        }
    }

    private void attach(int device, String name) {
        time = time.plusSeconds(1);
        ledger.get(device).add(new Attachment(name, null, TIME.format(time)));
    }

    private List<Integer> held(String name) {
        return ledger.entrySet().stream()
                .filter(entry ->
                        entry.getValue().stream().anyMatch(one -> one.eid().equals(name)))
                .map(Map.Entry::getKey)
                .toList();
    }

    private void write() throws IOException {
        var files = files(ledger);
        Files.writeString(node.stateDirectory.resolve("envs.json"), files.envsJson());
        Files.writeString(node.devicesJson(), files.devicesJson());
    }

    private StateFiles files(Map<Integer, List<Attachment>> content) {
        var files = new StateFiles(node.stateDirectory);
        shells.forEach((name, shell) -> files.env(name, uid(name), name, null, shell.pid()));
        content.forEach((index, attachments) -> files.device(index, attachments.toArray(Attachment[]::new)));
        return files;
    }

    private static Map<Integer, List<Attachment>> read(String text) throws IOException {
        return JSON.readTree(text)
                .path("devices")
                .valueStream()
                .collect(Collectors.toMap(
                        device -> device.path("index").asInt(),
                        device -> device.path("attachments")
                                .valueStream()
                                .map(one -> new Attachment(
                                        one.path("eid").asText(),
                                        null,
                                        one.path("time").asText()))
                                .toList()));
    }
}
