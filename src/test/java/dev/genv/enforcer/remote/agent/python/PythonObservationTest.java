package dev.genv.enforcer.remote.agent.python;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The agent observes real processes; only the GPUs are fake. */
@Timeout(600)
class PythonObservationTest {
    @TempDir
    private Path folder;

    private PythonMachine machine;

    @BeforeEach
    void create() throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine = new PythonMachine(folder);
    }

    @Test
    void observesProcessesAndState() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, child.pid(), "1542").process(1, child.pid(), "[N/A]");
            machine.files()
                    .ownEnv("15971", "4g", child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var facts = machine.observe();
            assertThat(facts.get("processes")).hasSize(1);
            assertThat(bytes(facts.at("/processes/0/environ/value/id"))).isEqualTo("15971");
            assertThat(facts.at("/processes/0/uid/value").asLong()).isEqualTo(CurrentProcess.uid());
            // Other numbers in the file, such as those of dates, may be pids too.
            var live = stream(facts.at("/liveness/processes/value"))
                    .filter(each -> each.get("pid").asInt() == child.pid())
                    .findFirst()
                    .orElseThrow();
            assertThat(live.get("uid").asLong()).isEqualTo(CurrentProcess.uid());
            assertThat(facts.at("/liveness/kernels/unsearched").asText()).isEmpty();
            assertThat(facts.at("/state/devices").has("present")).isTrue();
            assertThat(facts.at("/access/pid").asInt()).isPositive();
        }
    }

    private static Stream<JsonNode> stream(JsonNode array) {
        return StreamSupport.stream(array.spliterator(), false);
    }

    @Test
    void machineWithoutStateOrProcesses() throws Exception {
        Files.delete(machine.state);
        var facts = machine.observe();
        assertThat(facts.at("/state/directory").has("absent")).isTrue();
        assertThat(facts.get("processes")).isEmpty();
        assertThat(facts.at("/liveness/processes/value")).isEmpty();
        assertThat(machine.state).doesNotExist();
    }

    @Test
    void reportsTheStatOfVerifiedProcesses() throws Exception {
        int gone;
        try (var other = Child.inEnvironment("15971")) {
            gone = other.pid();
        }
        try (var child = Child.inEnvironment("15971")) {
            machine.request.putArray("verified").add(child.pid()).add(gone);
            var verified = machine.observe().get("verified");
            assertThat(verified.at("/0/pid").asInt()).isEqualTo(child.pid());
            assertThat(bytes(verified.at("/0/stat/value"))).startsWith(child.pid() + " (sleep) ");
            assertThat(verified.at("/1/stat/failure").asText()).isEqualTo("ABSENT");
        }
    }

    @Test
    void identifiesTheMachineAndItsBoot() throws Exception {
        var boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        assertThat(machine.observe().at("/machine/bootId").asText()).isEqualTo(boot);
        assertThat(machineId()).isEqualTo("0123456789abcdef0123456789abcdef");
        Files.delete(machine.etc.resolve("machine-id"));
        assertThat(machineId()).isEmpty();
        var dbus = Files.createDirectories(folder.resolve("var/lib/dbus"));
        Files.writeString(dbus.resolve("machine-id"), "f".repeat(32));
        assertThat(machineId()).isEqualTo("f".repeat(32));
        Files.writeString(machine.etc.resolve("machine-id"), "\n");
        assertThat(machineId()).isEqualTo("f".repeat(32));
    }

    private String machineId() throws Exception {
        return machine.observe().at("/machine/machineId").asText();
    }

    @Test
    void reportsTheTimesOfListingAndState() throws Exception {
        var before = ticks();
        var times = machine.observe().get("machine");
        assertThat(times.get("beforeListing").asLong())
                .isBetween(before, times.get("beforeState").asLong());
        assertThat(times.get("beforeState").asLong()).isLessThanOrEqualTo(ticks());
    }

    private static long ticks() throws IOException {
        return Long.parseLong(
                Files.readString(Path.of("/proc/uptime")).split(" ", 2)[0].replace(".", ""));
    }

    @Test
    void sendsAccountsOnlyAfterAChange() throws Exception {
        var passwd = machine.observe().at("/accounts/passwd/value");
        assertThat(bytes(passwd.get("content"))).isEqualTo("root:x:0:0::/root:/bin/sh\n");
        machine.request.put("passwd", passwd.get("version").asText());
        assertThat(machine.observe().at("/accounts/passwd/value/content").isNull())
                .isTrue();
        Files.writeString(machine.etc.resolve("passwd"), "raz:x:1000:0::/:/bin/sh\n");
        assertThat(bytes(machine.observe().at("/accounts/passwd/value/content")))
                .startsWith("raz");
        Files.delete(machine.etc.resolve("passwd"));
        assertThat(machine.observe().at("/accounts/passwd/failure").asText()).isEqualTo("ABSENT");
        Files.write(machine.etc.resolve("passwd"), new byte[3 << 20]);
        assertThat(machine.observe().at("/accounts/passwd/failure").asText()).isEqualTo("OTHER");
        assertThat(machine.observe().at("/accounts/subuid/failure").asText()).isEqualTo("ABSENT");
        Files.writeString(machine.etc.resolve("subuid"), "raz:100000:65536\n");
        assertThat(bytes(machine.observe().at("/accounts/subuid/value/content")))
                .startsWith("raz:");
    }

    @Test
    void findsProtectedProgramsThatOnlyRootCanReplace() throws Exception {
        Requirements.root();
        var program = copyProgram("server");
        Files.createSymbolicLink(folder.resolve("link"), Path.of("server"));
        var users = copyProgram("users");
        Files.setAttribute(users, "unix:uid", 65534);
        var open = copyProgram("open/server");
        Files.setPosixFilePermissions(open.getParent(), PosixFilePermissions.fromString("rwxrwxrwx"));
        Files.createSymbolicLink(open.resolveSibling("link"), program);
        Files.createSymbolicLink(folder.resolve("loop"), Path.of("loop"));
        for (var name : List.of("server", "link", "users", "open/server", "open/link", "nothing", "etc", "loop")) {
            machine.request.withArray("/programs").add(folder.resolve(name).toString());
        }
        var programs = machine.observe().get("programs");
        var found = programs.at("/0/value");
        assertThat(found.at("/id/inode").asLong()).isEqualTo(Files.getAttribute(program, "unix:ino"));
        assertThat(found.get("born").asLong())
                .isEqualTo(ProgramFiles.identify(program).born());
        assertThat(programs.at("/1/value")).isEqualTo(found);
        assertThat(programs.at("/2/reason").asText()).isEqualTo(users + " belongs to user 65534");
        assertThat(programs.at("/3/reason").asText()).isEqualTo("others can write " + open.getParent());
        assertThat(programs.at("/4/reason").asText()).isEqualTo("others can write " + open.getParent());
        assertThat(programs.at("/5/failure").asText()).isEqualTo("ABSENT");
        assertThat(programs.at("/6/reason").asText()).isEqualTo("it is not a file");
        assertThat(programs.at("/7/failure").asText()).isEqualTo("OTHER");
        assertThat(programs.at("/7/reason").asText()).isEqualTo("Too many levels of symbolic links");
        for (var untrusted = 2; untrusted < 5; untrusted++) {
            assertThat(programs.get(untrusted).get("failure").asText()).isEqualTo("UNTRUSTED");
        }
    }

    private Path copyProgram(String name) throws IOException {
        var program = folder.resolve(name);
        Files.createDirectories(program.getParent());
        return Files.copy(Path.of("/bin/sleep"), program);
    }

    @Test
    void reportsItsAccess() throws Exception {
        var proc = machine.useFakeProc(folder.resolve("proc"));
        proc.writeSelf("00000000a80425fb", "docker-default (enforce)");
        var access = machine.observe().get("access");
        assertThat(access.get("capabilities").asLong()).isEqualTo(0xa80425fbL);
        assertThat(access.get("pidNamespace").asText()).isEqualTo("pid:[4026531836]");
        assertThat(access.get("securityLabel").asText()).isEqualTo("docker-default (enforce)");
        assertThat(access.get("stateIsWritable").asBoolean()).isTrue();
        proc.writeSelf("ffffffffffffffff", "");
        assertThat(machine.observe().at("/access/capabilities").asLong()).isEqualTo(-1);
    }

    @Test
    void reportsWhatAnOrdinaryUserMayNotDo() throws Exception {
        Requirements.root();
        machine.command = List.of(
                "setpriv",
                "--reuid",
                "65534",
                "--regid",
                "65534",
                "--clear-groups",
                PythonMachine.PYTHON,
                "-I",
                "-S",
                "-");
        try (var child = Child.inEnvironment("a")) {
            machine.nvidiaSmi.process(0, child.pid(), "1");
            Files.setPosixFilePermissions(machine.state, PosixFilePermissions.fromString("rwxr-xr-x"));
            var facts = machine.observe();
            assertThat(facts.at("/access/stateIsWritable").asBoolean()).isFalse();
            assertThat(facts.at("/access/capabilities").asLong()).isZero();
            assertThat(facts.at("/processes/0/environ/failure").asText()).isEqualTo("DENIED");
            assertThat(facts.at("/processes/0/executable/failure").asText()).isEqualTo("DENIED");
            Files.setPosixFilePermissions(machine.state, PosixFilePermissions.fromString("rwx------"));
            JsonNode directory = machine.observe().at("/state/directory/unreadable");
            assertThat(directory.get("failure").asText()).isEqualTo("DENIED");
            assertThat(directory.get("reason").asText()).isEqualTo("cannot be entered");
        }
    }
}
