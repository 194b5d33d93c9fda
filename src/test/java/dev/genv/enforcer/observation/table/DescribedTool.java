package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The answers of nvidia-smi on a described machine. */
final class DescribedTool {
    static final String PROCESSES = "apps";
    static final String DEVICES = "gpu=";
    private static final Pattern LISTED = Pattern.compile("(?m)^[^,\n]*, *([1-9][0-9]{0,8}) *,");

    private final FakeNvidiaSmi smi;
    private final Map<String, ToolOutput> answers = new HashMap<>();

    private @Nullable String failure;

    DescribedTool(Path folder) throws IOException {
        smi = new FakeNvidiaSmi(folder);
    }

    Path path() {
        return smi.path();
    }

    void answer(String query, String lines, int exitCode) throws IOException {
        var folder = smi.path().resolveSibling("answers");
        Files.createDirectories(folder);
        Files.writeString(folder.resolve(query), lines);
        Files.writeString(folder.resolve(query + ".exit"), Integer.toString(exitCode));
        answers.put(query, new ToolOutput(exitCode, Bytes.of(lines.getBytes(StandardCharsets.UTF_8)), Bytes.EMPTY));
        smi.fault(
                "for query in apps gpu=; do case $1 in *$query*) cat %1$s/$query; exit $(cat %1$s/$query.exit);; esac; done"
                        .formatted(folder));
    }

    /** Has every call fail, for this reason as a clause. */
    void fail(String why) {
        failure = why;
    }

    GpuFacts facts() {
        return failure != null
                ? new GpuFacts(Reading.failed(Failure.OTHER, failure), Reading.failed(Failure.SKIPPED, ""))
                : new GpuFacts(Reading.of(output(PROCESSES)), Reading.of(output(DEVICES)));
    }

    /** The processes that it lists. */
    List<Integer> pids() {
        if (failure != null) {
            return List.of();
        }
        var answer = output(PROCESSES);
        return answer.exitCode() == 0
                ? LISTED.matcher(answer.stdout().text())
                        .results()
                        .map(match -> Integer.valueOf(match.group(1)))
                        .distinct()
                        .toList()
                : List.of();
    }

    private ToolOutput output(String query) {
        return Objects.requireNonNull(answers.get(query));
    }
}
