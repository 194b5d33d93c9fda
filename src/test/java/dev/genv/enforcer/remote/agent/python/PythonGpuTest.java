package dev.genv.enforcer.remote.agent.python;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The agent runs an nvidia-smi with every fault. */
@Timeout(600)
class PythonGpuTest {
    @TempDir
    private Path folder;

    private PythonMachine machine;
    private Child child;

    @BeforeEach
    void listChild() throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine = new PythonMachine(folder);
        child = Child.withEnvironment(Map.of());
        machine.nvidiaSmi.process(0, child.pid(), "7");
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    @Test
    void deliversBothAnswers() throws Exception {
        var facts = machine.observe();
        assertThat(bytes(facts.at("/gpu/processes/value/stdout")))
                .isEqualTo("%s, %d, 7\n".formatted(FakeNvidiaSmi.uuid(0), child.pid()));
        assertThat(bytes(facts.at("/gpu/devices/value/stdout"))).hasLineCount(2);
        assertThat(facts.at("/processes/0/pid").asInt()).isEqualTo(child.pid());
    }

    @Test
    void deliversExitCodeAndErrorOutput() throws Exception {
        assertOutput("echo 'Failed to initialize NVML: Unknown Error'; exit 255", 255, "Failed to initialize", "");
        assertOutput("echo 'no driver' >&2; exit 9", 9, "", "no driver\n");
        assertOutput("kill -9 $$", 137, "", "");
        assertOutput("kill $$", 143, "", "");
        machine.nvidiaSmi.noFault().gpuLines("");
        var facts = machine.observe();
        assertThat(facts.at("/gpu/processes/value/exitCode").asInt()).isEqualTo(6);
        assertThat(facts.at("/gpu/devices/value/exitCode").asInt()).isEqualTo(6);
        assertThat(facts.get("processes")).isEmpty();
    }

    private void assertOutput(String fault, int exitCode, String stdout, String stderr) throws Exception {
        machine.nvidiaSmi.fault(fault);
        var output = machine.observe().at("/gpu/processes/value");
        assertThat(output.get("exitCode").asInt()).isEqualTo(exitCode);
        assertThat(bytes(output.get("stdout"))).startsWith(stdout);
        assertThat(bytes(output.get("stderr"))).isEqualTo(stderr);
    }

    @Test
    void readsOnlyPidsFromTheList() throws Exception {
        machine.nvidiaSmi.fault("""
                case $1 in *compute*) echo 'GPU-x, %1$d, 1'; echo 'GPU-y,%1$d,1'; echo '[GPU is lost], [GPU is lost], 1';
                echo 'x, 0, 1'; echo 'x, -1, 1'; echo 'x, 12345678901, 1'; echo 'x, 7x, 1'; echo 'x'; echo; exit ;; esac""".formatted(child.pid()));
        var facts = machine.observe();
        assertThat(facts.get("processes")).hasSize(1);
        assertThat(facts.at("/processes/0/pid").asInt()).isEqualTo(child.pid());
    }

    @Test
    void killsHangingToolAndItsProcessGroup() throws Exception {
        var pids = folder.resolve("pids");
        machine.gpu().put("timeout", 1);
        machine.nvidiaSmi.fault("trap '' TERM; sleep 600 & echo $$ $! >%s; sleep 600; sleep 600".formatted(pids));
        // On a busy machine the tool may be killed before it has written the pids, or take longer to end.
        await().until(() -> {
            var output = machine.run(machine.input("observe")).answer();
            assertThat(output.at("/facts/gpu/processes/failure").asText()).isEqualTo("TIMEOUT");
            assertThat(output.at("/facts/gpu/processes/reason").asText())
                    .isEqualTo("nvidia-smi did not exit within 1.00 s");
            return Files.exists(pids)
                    && !Files.readString(pids).isEmpty()
                    && !output.get("toolHangs").asBoolean();
        });
        for (var pid : Files.readString(pids).strip().split(" ", -1)) {
            await().until(() -> ProcessHandle.of(Long.parseLong(pid)).isEmpty());
        }
    }

    @Test
    void skippedToolIsNotRun() throws Exception {
        machine.gpu().put("skip", true);
        machine.nvidiaSmi.fault("touch " + folder.resolve("called"));
        var facts = machine.observe();
        assertThat(facts.at("/gpu/processes/failure").asText()).isEqualTo("SKIPPED");
        assertThat(facts.at("/gpu/devices/failure").asText()).isEqualTo("SKIPPED");
        assertThat(folder.resolve("called")).doesNotExist();
    }

    /** The child keeps the output open, and its end does not come. */
    @Test
    void doesNotWaitForChildOfTheTool() throws Exception {
        var pid = folder.resolve("pid");
        machine.nvidiaSmi.fault("[ -e %1$s ] || { sleep 600 & echo $! >%1$s; }".formatted(pid));
        var facts = machine.observe();
        ProcessHandle.of(Long.parseLong(Files.readString(pid).strip())).ifPresent(ProcessHandle::destroyForcibly);
        assertThat(facts.get("processes")).hasSize(1);
    }

    @Test
    void refusesTooMuchOutput() throws Exception {
        for (var stream : new String[] {"1", "2"}) {
            machine.nvidiaSmi.fault("head -c 1500000 /dev/zero | tr '\\0' x >&%s; exit 3".formatted(stream));
            assertRefused("OTHER", "nvidia-smi printed more than 1048576 bytes");
        }
        machine.nvidiaSmi.fault("tr '\\0' x </dev/zero");
        assertRefused("OTHER", "nvidia-smi printed more than 1048576 bytes");
        machine.nvidiaSmi.fault("head -c 1000000 /dev/zero; exit 0");
        assertThat(bytes(machine.observe().at("/gpu/processes/value/stdout"))).hasSizeGreaterThan(999_999);
    }

    @Test
    void runsTheToolInItsOwnEnvironment() throws Exception {
        var seen = folder.resolve("environment");
        machine.nvidiaSmi.fault("env >%1$s; pwd >>%1$s; cat >>%1$s; ls -l /proc/self/fd >%1$s.fd".formatted(seen));
        machine.observe();
        assertThat(Files.readAllLines(seen))
                .contains("LC_ALL=C", "GENV_BYPASS=1", "/")
                .filteredOn(line -> !line.startsWith("PWD=") && !line.startsWith("_=") && !line.startsWith("SHLVL="))
                .hasSize(4);
        assertThat(Files.readAllLines(Path.of(seen + ".fd"))).hasSizeLessThanOrEqualTo(1 + 4);
    }

    @Test
    void findsTheToolByItsName() throws Exception {
        machine.gpu().put("program", "nosuchtool");
        assertRefused("ABSENT", "nosuchtool is not in any of /usr/local/sbin:/usr/local/bin:");
        machine.gpu().put("program", "true");
        assertThat(machine.observe().at("/gpu/processes/value/exitCode").asInt())
                .isZero();
    }

    @Test
    void refusesWhatIsNotAProgram() throws Exception {
        var path = machine.nvidiaSmi.path();
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r--r--"));
        assertRefused("ABSENT", path + " is not a program");
        Files.delete(path);
        assertRefused("ABSENT", path + " is not a program");
        Files.createDirectory(path);
        assertRefused("ABSENT", path + " is not a program");
        Files.delete(path);
        Files.writeString(path, "#!/nowhere\n");
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
        var output = machine.observe().at("/gpu/processes/value");
        assertThat(output.get("exitCode").asInt()).isEqualTo(127);
        assertThat(bytes(output.get("stderr"))).isEqualTo("it cannot be run: No such file or directory");
    }

    @Test
    void doesNotRunAToolThatOthersCanReplace() throws Exception {
        var path = machine.nvidiaSmi.path();
        machine.nvidiaSmi.fault("touch " + folder.resolve("called"));
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxrwxr-x"));
        assertUntrusted(path, "others can write " + path);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xrwx"));
        assertUntrusted(path, "others can write " + folder);
        var link = Files.createSymbolicLink(machine.etc.resolve("link"), path);
        machine.gpu().put("program", link.toString());
        assertUntrusted(link, "others can write " + folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Requirements.root();
        Files.setAttribute(path, "unix:uid", 65534);
        assertUntrusted(link, path + " belongs to user 65534");
        Files.setAttribute(path, "unix:uid", 0);
        assertThat(folder.resolve("called")).doesNotExist();
        Files.setAttribute(link, "unix:uid", 65534, java.nio.file.LinkOption.NOFOLLOW_LINKS);
        assertUntrusted(link, link + " belongs to user 65534");
    }

    private void assertUntrusted(Path path, String why) throws Exception {
        assertRefused("UNTRUSTED", path + " is not used: " + why);
    }

    @Test
    void refusesMoreThanTheMaximumNumberOfProcesses() throws Exception {
        var lines = new StringBuilder();
        for (var pid = 100_000; pid < 104_097; pid++) {
            lines.append("echo '%s, %d, 1'\n".formatted(FakeNvidiaSmi.uuid(0), pid));
        }
        machine.nvidiaSmi.fault("case $1 in *compute*) " + lines + ";; esac");
        var facts = assertRefused("OTHER", "nvidia-smi lists more processes than can be observed: 4098");
        assertThat(facts.get("processes")).isEmpty();
        machine.nvidiaSmi.fault("case $1 in *compute*) "
                + lines.toString().lines().limit(4000).reduce("", (one, next) -> one + "\n" + next) + ";; esac");
        assertThat(machine.observe().get("processes")).hasSize(4001);
    }

    private JsonNode assertRefused(String failure, String reason) throws Exception {
        var facts = machine.observe();
        assertThat(facts.at("/gpu/processes/failure").asText()).isEqualTo(failure);
        assertThat(facts.at("/gpu/processes/reason").asText()).startsWith(reason);
        return facts;
    }
}
