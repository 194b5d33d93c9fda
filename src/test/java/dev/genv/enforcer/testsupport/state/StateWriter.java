package dev.genv.enforcer.testsupport.state;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Attaches and detaches at full speed as genv does: under flock(2), it truncates the file and writes it again. It keeps a ledger, and compares the file with it whenever it has the lock. So it detects every change of another program.
 */
public final class StateWriter {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd/MM/yyyy HH:mm:ss");
    private static final ObjectMapper JSON = new ObjectMapper();
    /** A pause as between two commands of a shell, in which a program that does not wait for the lock can get it. */
    private static final long PAUSE_NANOS = 200_000;

    private final Path directory;
    private final int devices;
    private final List<Holder> holders;
    private final Random random;
    private final Map<Integer, List<Attachment>> expectedAttachments = new TreeMap<>();
    private final List<String> lostAttachments = new ArrayList<>();
    private LocalDateTime time = LocalDateTime.of(2026, 11, 20, 9, 22, 28);
    private int rounds;

    /** How a user uses an environment. */
    public enum Habit {
        /** The user always has device 0. */
        STEADY,
        /** The user has one device or none, and changes it. */
        MODEST,
        /** The user attaches device after device, and detaches none. */
        GREEDY
    }

    /** Adds a user with an environment of the same name, which this pid keeps alive. */
    public record Holder(String name, long uid, int pid, Habit habit) {}

    public StateWriter(Path directory, int devices, List<Holder> holders, long seed) throws IOException {
        this.directory = directory;
        this.devices = devices;
        this.holders = List.copyOf(holders);
        this.random = new Random(seed);
        for (var index = 0; index < devices; index++) {
            expectedAttachments.put(index, new ArrayList<>());
        }
        holders.stream().filter(holder -> holder.habit == Habit.STEADY).forEach(holder -> attach(0, holder));
        write();
    }

    public Path lock() {
        return directory.resolve("genv.lock");
    }

    /** Takes the lock, compares the file with the ledger, changes an attachment, and writes. */
    public void writeRound() throws IOException {
        try (var _ = RealFlock.take(lock())) {
            checkChanges();
            holders.forEach(this::changeAttachments);
            write();
            rounds++;
        }
        LockSupport.parkNanos(PAUSE_NANOS);
    }

    /** Takes the lock, compares the file with the ledger, and returns whether no user has more than one device. */
    public boolean isEveryHolderWithinQuota() throws IOException {
        try (var _ = RealFlock.take(lock())) {
            checkChanges();
            return holders.stream().allMatch(holder -> held(holder).size() <= 1);
        }
    }

    public int rounds() {
        return rounds;
    }

    /** Returns the detachments by another program, each as {@code environment="NAME" devices=INDEX}. */
    public List<String> lostAttachments() {
        return List.copyOf(lostAttachments);
    }

    private void checkChanges() throws IOException {
        var text = Files.readString(devicesJson());
        var now = read(text);
        assertThat(text).as("the file's form").isEqualTo(files(now).devicesJson());
        expectedAttachments.forEach((device, attachments) -> {
            var present = now.getOrDefault(device, List.of());
            var kept = new ArrayList<>(attachments);
            kept.retainAll(present);
            assertThat(present)
                    .as("device %d has what it had, and nothing new", device)
                    .isEqualTo(kept);
            attachments.stream().filter(gone -> !present.contains(gone)).forEach(gone -> recordLoss(device, gone));
            attachments.retainAll(present);
        });
        for (var holder : holders) {
            if (holder.habit == Habit.GREEDY && rounds > 0) {
                assertThat(held(holder)).as("devices of %s", holder).isNotEmpty();
            }
        }
    }

    private void recordLoss(int device, Attachment gone) {
        assertThat(holders)
                .as("whoever lost device %d", device)
                .anyMatch(holder -> holder.name.equals(gone.eid()) && holder.habit == Habit.GREEDY);
        lostAttachments.add("environment=\"%s\" devices=%d ".formatted(gone.eid(), device));
    }

    private void changeAttachments(Holder holder) {
        var held = held(holder);
        var device = random.nextInt(devices);
        switch (holder.habit) {
            case STEADY -> {}
            case MODEST -> {
                held.forEach(index ->
                        expectedAttachments.get(index).removeIf(one -> one.eid().equals(holder.name)));
                if (random.nextBoolean()) {
                    attach(device, holder);
                }
            }
            case GREEDY -> {
                if (!held.contains(device)) {
                    attach(device, holder);
                }
            }
        }
    }

    private void attach(int device, Holder holder) {
        time = time.plusSeconds(1);
        expectedAttachments.get(device).add(new Attachment(holder.name, null, TIME.format(time)));
    }

    private List<Integer> held(Holder holder) {
        return expectedAttachments.entrySet().stream()
                .filter(entry ->
                        entry.getValue().stream().anyMatch(one -> one.eid().equals(holder.name)))
                .map(Map.Entry::getKey)
                .toList();
    }

    private void write() throws IOException {
        var files = files(expectedAttachments);
        Files.writeString(directory.resolve("envs.json"), files.envsJson());
        Files.writeString(devicesJson(), files.devicesJson());
    }

    private StateFiles files(Map<Integer, List<Attachment>> content) {
        var files = new StateFiles(directory);
        holders.forEach(holder -> files.env(holder.name, holder.uid, holder.name, null, holder.pid));
        content.forEach((index, attachments) -> files.device(index, attachments.toArray(Attachment[]::new)));
        return files;
    }

    private static Map<Integer, List<Attachment>> read(String text) throws IOException {
        var content = new HashMap<Integer, List<Attachment>>();
        for (var device : JSON.readTree(text).path("devices")) {
            var attachments = new ArrayList<Attachment>();
            device.path("attachments")
                    .forEach(one -> attachments.add(new Attachment(
                            one.path("eid").asText(), null, one.path("time").asText())));
            content.put(device.path("index").asInt(), attachments);
        }
        return content;
    }

    private Path devicesJson() {
        return directory.resolve("devices.json");
    }
}
