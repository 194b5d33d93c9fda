package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.linux.OpenFiles;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The agent takes genv's lock while users withhold it by every means. */
class PythonLockTest extends PythonFixture {
    private static final int HOLDER = 812;
    private static final int INNOCENT = 99;

    private final CountDownLatch replaced = new CountDownLatch(1);
    private Path lock;

    @BeforeEach
    void writeState() throws IOException {
        machine.request.put("lockTimeout", 0.3);
        machine.files().device(0).write();
        lock = machine.state.resolve("genv.lock");
    }

    @Test
    void waitsUntilTheLockIsReleased() throws Exception {
        machine.request.put("lockTimeout", 600);
        var held = RealFlock.take(lock);
        var release = Thread.ofPlatform().start(() -> {
            await().until(() ->
                    ProcessHandle.current().descendants().anyMatch(process -> OpenFiles.has(process, lock)));
            try {
                held.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        observe("HELD");
        release.join();
    }

    /** Each file is held for less than the time limit, and is replaced by another one that is held already. */
    @Test
    void theTimeLimitCoversReplacedLockFiles() throws Exception {
        var churn = Thread.ofPlatform().start(this::keepReplacingTheLock);
        try {
            replaced.await();
            observe("TIMEOUT", "UNUSABLE"); // the last attempt may get the lock of a file that was just replaced
        } finally {
            churn.interrupt();
            churn.join();
        }
    }

    private void keepReplacingTheLock() {
        try {
            var next = folder.resolve("next");
            var held = RealFlock.take(next);
            Files.move(next, lock, StandardCopyOption.ATOMIC_MOVE);
            replaced.countDown();
            while (!Thread.currentThread().isInterrupted()) {
                var former = held;
                held = RealFlock.take(next);
                pause();
                // Before the former one is released: the file in place is never free.
                Files.move(next, lock, StandardCopyOption.ATOMIC_MOVE);
                former.close();
            }
            held.close();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void pause() {
        try {
            Thread.sleep(200); // the subject of the test: how long each is held
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void findsHolderByDeviceAndInode() throws Exception {
        var device = device();
        assertThat(holders(
                        line(INNOCENT, "ff:07"), line(HOLDER, device), line(HOLDER, device), line(INNOCENT, "ff:08")))
                .singleElement()
                .satisfies(holder -> assertThat(holder.get("pid").asInt()).isEqualTo(HOLDER))
                .satisfies(holder -> assertThat(holder.get("uid").asInt()).isEqualTo(1003))
                .satisfies(holder -> assertThat(bytes(holder.get("stat"))).startsWith("812 (holder) "));
    }

    /** On btrfs, stat(2) and /proc/locks show different devices. */
    @Test
    void findsHolderByInodeIfOnlyOneDeviceHasIt() throws Exception {
        assertThat(holders(line(HOLDER, "ff:07")))
                .singleElement()
                .satisfies(holder -> assertThat(holder.get("pid").asInt()).isEqualTo(HOLDER));
        assertThat(holders(line(HOLDER, "ff:07"), line(INNOCENT, "ff:08"))).isEmpty();
    }

    @Test
    void holderMayBeUnknown() throws Exception {
        assertThat(holders(line(-1, device()), "garbage\n", "1: -> FLOCK  ADVISORY  WRITE 7 x\n"))
                .singleElement()
                .satisfies(holder -> assertThat(holder.get("pid").asInt()).isEqualTo(-1))
                .satisfies(holder -> assertThat(holder.get("stat").isNull()).isTrue())
                .satisfies(holder -> assertThat(holder.get("uid").isNull()).isTrue());
        Files.delete(folder.resolve("proc/locks"));
        try (var _ = RealFlock.take(lock)) {
            assertThat(observe("TIMEOUT").get("holders").isNull()).isTrue();
        }
    }

    private JsonNode holders(String... lines) throws Exception {
        var proc = useFakeProc();
        proc.process(HOLDER).command("holder").uid(1003);
        proc.process(INNOCENT).command("innocent").uid(1004);
        Files.writeString(folder.resolve("proc/locks"), String.join("", lines));
        try (var _ = RealFlock.take(lock)) {
            return observe("TIMEOUT").get("holders");
        }
    }

    private String line(int pid, String device) throws IOException {
        try (var _ = RealFlock.take(lock)) {
            return "1: FLOCK  ADVISORY  WRITE %d %s:%s 0 EOF\n"
                    .formatted(pid, device, Files.getAttribute(lock, "unix:ino"));
        }
    }

    /** As the kernel writes the number that stat(2) returns. */
    private String device() throws IOException {
        var number = (long) Files.getAttribute(machine.state, "unix:dev");
        var major = ((number >> 8) & 0xfff) | ((number >> 32) & 0xfffff000L);
        var minor = (number & 0xff) | ((number >> 12) & 0xffffff00L);
        return "%02x:%02x".formatted(major, minor);
    }

    private JsonNode observe(String... outcomes) throws Exception {
        var state = machine.facts().get("state");
        assertThat(state.at("/lock/outcome").asText()).isIn((Object[]) outcomes);
        assertThat(bytes(state.at("/devices/present/content")))
                .isEqualTo(Files.readString(machine.state.resolve("devices.json")));
        return state.get("lock");
    }
}
