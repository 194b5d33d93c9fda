package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A machine for the agent. Its processes are real ones unless a test uses fake ones. */
@Timeout(600)
abstract class PythonFixture {
    @TempDir
    Path folder;

    PythonMachine machine;

    private final Set<Integer> listed = new TreeSet<>();

    @BeforeEach
    final void createMachine() throws IOException {
        setMode(folder, "rwxr-xr-x");
        machine = new PythonMachine(folder);
    }

    /** A fake process that the GPU tool lists too. */
    final FakeProc.FakeProcess listed(FakeProc proc, int pid) throws IOException {
        listed.add(pid);
        machine.setGpuProcesses(listed.stream().mapToInt(Integer::intValue).toArray());
        return proc.process(pid);
    }

    static void setMode(Path file, String permissions) throws IOException {
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }

    /** The program with a change, which must find its place. */
    static String changed(String input, String place, String replacement) {
        assertThat(input).contains(place);
        return input.replace(place, replacement);
    }

    /** The program with a statement before the first one of a function. */
    static String changedAtTheStartOf(String function, String input, String statement) {
        var changed = input.replaceFirst("(?m)^(def %s\\(.*\\n.*\\n)".formatted(function), "$1    " + statement + "\n");
        assertThat(changed).isNotEqualTo(input);
        return changed;
    }

    /** The bytes of a value, one char for each. */
    static String bytes(JsonNode base64) {
        return new String(Base64.getDecoder().decode(base64.asText()), ISO_8859_1);
    }

    static List<String> list(JsonNode array) {
        return array.valueStream().map(JsonNode::asText).toList();
    }

    static String id(JsonNode process) {
        return bytes(process.at("/environ/value/id"));
    }
}
