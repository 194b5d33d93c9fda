package dev.genv.enforcer.e2e.tutorial;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The demo, with the commands of the README. */
class DemoIT {
    private static final Pattern AFTER = Pattern.compile("  (running|terminated) +pid ([0-9]+) +(.*)");

    @TempDir
    Path temporary;

    @Test
    void singlePassTerminatesTheFourViolatorsAndCleansUp() throws Exception {
        var demo = demo(Map.of("TMPDIR", temporary.toString()), "--once");
        var lines = linesOf(demo);

        assertThat(demo.waitFor()).as("%s", lines).isZero();
        var states = states(lines);
        var after = states.subList(states.size() / 2, states.size());
        assertThat(after)
                .extracting(match -> match.group(1) + " " + match.group(3))
                .containsExactly(
                        "running training on its attached GPU",
                        "running inference within its capacity of 8 GiB",
                        "terminated job on GPU 1, which is not attached to its environment",
                        "terminated job above its capacity of 4 GB",
                        "terminated newest job, on one device above the user's limit",
                        "running another job",
                        "terminated process outside all environments");
        assertThat(lines)
                .filteredOn(line -> line.startsWith("Terminating process"))
                .hasSize(4);
        assertThat(lines).anyMatch(line -> line.matches("Detaching environment 4005 of user \\S+ from device 5"));
        assertThat(after).noneMatch(match -> Files.exists(Path.of("/proc", match.group(2))));
        assertThat(isEmpty(temporary)).isTrue();
    }

    @Test
    void refusesFolderThatOthersCanWrite() throws Exception {
        Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString("rwxrwxrwx"));

        var demo = demo(Map.of("TMPDIR", temporary.toString()), "--once");

        assertThat(linesOf(demo)).singleElement().asString().startsWith("Other users can replace what lies in ");
        assertThat(demo.waitFor()).isEqualTo(1);
    }

    /** The demo with these variables and without a home directory. */
    private static Process demo(Map<String, String> variables, String... arguments) throws IOException {
        var command = new ArrayList<>(List.of("docker/demo/run"));
        command.addAll(List.of(arguments));
        var builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(variables);
        builder.environment().remove("HOME");
        return builder.start();
    }

    private static List<String> linesOf(Process demo) throws IOException {
        return new String(demo.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .toList();
    }

    private static List<MatchResult> states(List<String> lines) {
        return lines.stream()
                .map(AFTER::matcher)
                .filter(matcher -> matcher.matches())
                .map(matcher -> matcher.toMatchResult())
                .toList();
    }

    private static boolean isEmpty(Path directory) throws IOException {
        try (var entries = Files.list(directory)) {
            return entries.findAny().isEmpty();
        }
    }
}
