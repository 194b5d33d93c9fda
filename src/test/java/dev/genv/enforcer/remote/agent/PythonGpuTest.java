package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The agent runs an nvidia-smi with every fault; {@code GpuRows} has what it makes of the answers. */
class PythonGpuTest extends PythonFixture {
    private Child child;

    @BeforeEach
    void listChild() throws IOException {
        child = Child.withEnvironment(Map.of());
        machine.nvidiaSmi.process(0, child.pid(), "7");
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    @Test
    void killsHangingToolAndItsProcessGroup() throws Exception {
        var pids = folder.resolve("pids");
        machine.gpu().put("timeout", 1);
        machine.nvidiaSmi.fault("trap '' TERM; sleep 600 & echo $$ $! >%s; sleep 600; sleep 600".formatted(pids));
        // On a busy machine the tool may be killed before it has written the pids, or take longer to end.
        await().until(() -> {
            var output = machine.run(machine.input("observe")).answer();
            assertFailed(output.get("facts"), "TIMEOUT", "nvidia-smi did not exit within 1.00 s");
            return Files.exists(pids)
                    && !Files.readString(pids).isEmpty()
                    && !output.get("toolHangs").asBoolean();
        });
        for (var pid : Files.readString(pids).strip().split(" ", -1)) {
            await().until(() -> ProcessHandle.of(Long.parseLong(pid)).isEmpty());
        }
    }

    /** The child keeps the output open, and its end does not come. */
    @Test
    void doesNotWaitForChildOfTheTool() throws Exception {
        var pid = folder.resolve("pid");
        machine.nvidiaSmi.fault("[ -e %1$s ] || { sleep 600 & echo $! >%1$s; }".formatted(pid));
        var facts = machine.facts();
        ProcessHandle.of(Long.parseLong(Files.readString(pid).strip())).ifPresent(ProcessHandle::destroyForcibly);
        assertThat(facts.get("processes")).hasSize(1);
    }

    @Test
    void refusesTooMuchOutput() throws Exception {
        for (var fault : List.of(
                "head -c 1500000 /dev/zero; exit 3", "head -c 1500000 /dev/zero >&2; exit 3", "cat /dev/zero")) {
            machine.nvidiaSmi.fault(fault);
            assertFailed(machine.facts(), "OTHER", "nvidia-smi printed more than 1048576 bytes");
        }
        machine.nvidiaSmi.fault("head -c 1000000 /dev/zero; exit 0");
        assertThat(bytes(machine.facts().at("/gpu/processes/value/stdout"))).hasSizeGreaterThan(999_999);
    }

    @Test
    void runsTheToolInItsOwnEnvironment() throws Exception {
        var seen = folder.resolve("environment");
        machine.nvidiaSmi.fault("env >%1$s; pwd >>%1$s; cat >>%1$s; ls -l /proc/self/fd >%1$s.fd".formatted(seen));
        machine.facts();
        assertThat(Files.readAllLines(seen))
                .contains("LC_ALL=C", "GENV_BYPASS=1", "/")
                .filteredOn(line -> !line.startsWith("PWD=") && !line.startsWith("_=") && !line.startsWith("SHLVL="))
                .hasSize(4);
        assertThat(Files.readAllLines(Path.of(seen + ".fd"))).hasSizeLessThanOrEqualTo(1 + 4);
    }

    /** {@code GpuRows} has a tool that others can write, or that belongs to a user. */
    @Test
    void doesNotRunAToolThatOthersCanReplace() throws Exception {
        var link = Files.createSymbolicLink(machine.etc.resolve("link"), machine.nvidiaSmi.path());
        machine.gpu().put("program", link.toString());
        machine.nvidiaSmi.fault("touch " + folder.resolve("called"));
        setMode(folder, "rwxr-xrwx");
        assertFailed(machine.facts(), "UNTRUSTED", link + " is not used: others can write " + folder);
        setMode(folder, "rwxr-xr-x");
        Requirements.root();
        Files.setAttribute(link, "unix:uid", 65534, LinkOption.NOFOLLOW_LINKS);
        assertFailed(machine.facts(), "UNTRUSTED", link + " is not used: %s belongs to user 65534".formatted(link));
        assertThat(folder.resolve("called")).doesNotExist();
    }

    /** It did not end when it was killed, or only its measurements took too long. */
    @Test
    void doesNotRunWhatHungBefore() throws Exception {
        var calls = folder.resolve("calls");
        machine.nvidiaSmi.fault("echo \"$1\" >>%s; ".formatted(calls));
        machine.request.put("deviceStatus", true);
        machine.omitted().put("status", true);
        assertThat(machine.facts().at("/gpu/status/failure").asText()).isEqualTo("SKIPPED");
        assertThat(Files.readString(calls)).contains("--query-compute-apps").doesNotContain("temperature");
        Files.delete(calls);
        machine.omitted().put("tool", true).put("status", false);
        assertFailed(machine.facts(), "SKIPPED", "nvidia-smi hung in an earlier observation");
        assertThat(calls).doesNotExist();
    }

    @Test
    void refusesMoreThanTheMaximumNumberOfProcesses() throws Exception {
        var lines = IntStream.range(100_000, 104_097)
                .mapToObj("echo 'GPU-0, %d, 1'\n"::formatted)
                .toList();
        machine.nvidiaSmi.fault("case $1 in *compute*) " + String.join("", lines) + ";; esac");
        var facts = machine.facts();
        assertFailed(facts, "OTHER", "nvidia-smi lists more processes than can be observed: 4098");
        assertThat(facts.get("processes")).isEmpty();
        machine.nvidiaSmi.fault("case $1 in *compute*) " + String.join("", lines.subList(0, 4000)) + ";; esac");
        assertThat(machine.facts().get("processes")).hasSize(4001);
    }

    @Test
    void hangingStatusCostsNothingElse() throws Exception {
        machine.request.put("deviceStatus", true);
        machine.nvidiaSmi.fault("case $1 in *temperature*) exec sleep 600 ;; esac");
        var answer = machine.run(machine.input("observe")).answer();
        assertThat(answer.get("toolHangs").asBoolean()).isFalse();
        assertThat(answer.at("/facts/gpu/status/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(answer.at("/facts/gpu/status/reason").asText()).isEqualTo("nvidia-smi did not exit within 5.00 s");
        assertThat(answer.at("/facts/gpu/devices/value/exitCode").asInt(-1)).isZero();
        assertThat(answer.at("/facts/gpu/processes/value/exitCode").asInt(-1)).isZero();
        assertThat(answer.at("/facts/state/directory/present").isObject()).isTrue();
    }

    private static void assertFailed(JsonNode facts, String failure, String reason) {
        assertThat(facts.at("/gpu/processes/failure").asText()).isEqualTo(failure);
        assertThat(facts.at("/gpu/processes/reason").asText()).startsWith(reason);
    }
}
