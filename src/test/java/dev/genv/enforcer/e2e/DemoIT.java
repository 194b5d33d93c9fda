package dev.genv.enforcer.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The demo, as a new user runs it. */
class DemoIT {
    private static final Pattern AFTER = Pattern.compile("  (still runs|was ended) +pid ([0-9]+) +(.*)");

    @TempDir
    Path temporary;

    @Test
    void onePassEndsTheFourThatBreakARuleAndLeavesNothingBehind() throws Exception {
        var builder = new ProcessBuilder("docker/demo/run", "--once").redirectErrorStream(true);
        builder.environment().put("TMPDIR", temporary.toString());
        var demo = builder.start();
        var lines = new String(demo.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .toList();

        assertThat(demo.waitFor()).as("%s", lines).isZero();
        var states = states(lines);
        var after = states.subList(states.size() / 2, states.size());
        assertThat(after)
                .extracting(match -> match.group(1) + " " + match.group(3))
                .containsExactly(
                        "still runs a training, on the GPU that it was given",
                        "still runs an inference, within the 8 GiB that were asked for",
                        "was ended a job on GPU 1, which it was not given",
                        "was ended a job using more than the 4 GB that were asked for",
                        "was ended the newest job, on one device more than a user may have",
                        "still runs one more job",
                        "was ended a process outside all environments");
        assertThat(lines)
                .filteredOn(line -> line.startsWith("Terminating process"))
                .hasSize(4);
        assertThat(lines).anyMatch(line -> line.matches("Detaching environment 4005 of user \\S+ from device 5"));
        assertThat(after).noneMatch(match -> Files.exists(Path.of("/proc", match.group(2))));
        assertThat(isEmpty(temporary)).isTrue();
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
