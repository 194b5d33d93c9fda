package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.remote.agent.HostMemory.HangBackoff;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What did not answer is left out for a while. */
class HostMemoryTest {
    private static final HostFacts SAMPLE = SampleFacts.ALL;
    private static final Kernels HANG = new Kernels(Set.of(), "process 7 of uid 1000: reading its arguments hangs");
    private static final Kernels FOUND = new Kernels(Set.of("kernel-1.json"), "");

    private final AtomicLong nanos = new AtomicLong(-5);
    private final HostMemory memory = new HostMemory(nanos::get);
    private final HangBackoff<String> backoff = new HangBackoff<>(nanos::get);

    private AccountFacts accounts = SAMPLE.accounts();
    private GpuFacts gpu = SAMPLE.gpu();
    private Kernels kernels = Kernels.NONE;
    private boolean toolHangs;

    @Test
    void doublesThePauseUpToOneHourUntilAnAnswer() {
        assertThat(backoff.isPaused("a")).isFalse();
        for (var length = Duration.ofMinutes(1); length.toMinutes() < 60; length = length.multipliedBy(2)) {
            assertPausedFor(length);
        }
        assertPausedFor(Duration.ofHours(1));
        assertPausedFor(Duration.ofHours(1));
        backoff.remember("a", false);
        assertPausedFor(Duration.ofMinutes(1));
    }

    private void assertPausedFor(Duration length) {
        backoff.remember("a", true);
        nanos.addAndGet(length.toNanos() - 1);
        assertThat(backoff.isPaused("b")).isFalse();
        assertThat(backoff.paused()).containsExactly("a");
        nanos.incrementAndGet();
        assertThat(backoff.isPaused("a")).isFalse();
        assertThat(backoff.paused()).isEmpty();
    }

    @Test
    void keepsAtMostOneThousandEntries() {
        for (var i = 0; i < 1500; i++) {
            backoff.remember("number " + i, true);
        }
        assertThat(backoff.paused()).hasSize(1000).contains("number 1499").doesNotContain("number 0");
    }

    @Test
    void remembersTheVersionsOfTheAccounts() {
        assertThat(memory.omitted().passwd()).isEmpty();
        accounts = new AccountFacts(
                Reading.of(new TextFile("1", null)),
                Reading.of(new TextFile("2", null)),
                List.of(),
                AccountFacts.NOT_ASKED,
                List.of(),
                List.of(),
                List.of());
        record();
        accounts = new AccountFacts(
                Reading.failed(Failure.DENIED, ""),
                Reading.of(new TextFile("3", null)),
                List.of(),
                AccountFacts.NOT_ASKED,
                List.of(),
                List.of(),
                List.of());
        record();
        assertThat(memory.omitted().passwd()).isEqualTo("1");
        assertThat(memory.omitted().subuid()).isEqualTo("3");
    }

    /**
     * What is observed and how much longer than the shortest pause passes, in nanoseconds; and what is left out at each look. A process is
     * written as its pid, its start time, and the failure of its environ.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        tool hangs; see; tool hangs; pass 0; see; tool answers; see            | tool, -, -
        # a pause grows although there was nothing to search in between: a user could end each by an environment without kernels
        kernels hang; kernels hang; pass 0; see; kernels none; kernels hang; pass 0; see; pass 0; kernels found; kernels hang; pass 0; see | -, kernels, -
        # that it is not asked is no answer
        status TIMEOUT; see; status SKIPPED; pass 0; see; status TIMEOUT; pass 0; see; pass 0; status answers; see | status, -, status, -
        1:7=TIMEOUT 2:7=answers 3:7=DENIED; see                                | 1:7
        # a process that is skipped does not extend its pause
        1:7=TIMEOUT; pass -1; 1:7=SKIPPED; see; 1:7=NO_TIME; see; pass 1; see  | 1:7, 1:7, -
        # a pause ends with the process, also if another one has its pid
        1:7=TIMEOUT; 1:OTHER=SKIPPED; see; 1:ABSENT=ABSENT; see; 1:3=TIMEOUT; 1:7=SKIPPED; see | 1:7, -, -
        """)
    void leavesOutForAWhileWhatDidNotAnswer(String steps, String expected) {
        var seen = new ArrayList<String>();
        for (var step : steps.split("; ", -1)) {
            var words = step.split(" ", -1);
            switch (words[0]) {
                case "see" -> seen.add(describe(memory.omitted()));
                case "pass" -> nanos.addAndGet(HangBackoff.SHORTEST.toNanos() + Long.parseLong(words[1]));
                case "tool" -> toolHangs = words[1].equals("hangs");
                case "status" -> gpu = SAMPLE.gpu().withStatus(status(words[1]));
                case "kernels" ->
                    kernels = words[1].equals("hang") ? HANG : words[1].equals("found") ? FOUND : Kernels.NONE;
                default ->
                    memory.rememberProcesses(
                            Stream.of(words).map(HostMemoryTest::process).toList(),
                            memory.omitted().processes());
            }
            if (words.length == 2 && !words[0].equals("pass")) {
                record();
            }
        }
        assertThat(seen).containsExactly(expected.split(", ", -1));
    }

    private static String describe(HostMemory.Omitted omitted) {
        var all = new ArrayList<String>();
        omitted.processes().forEach(each -> all.add(each.pid() + ":" + each.startTime()));
        if (omitted.tool()) {
            all.add("tool");
        }
        if (omitted.status()) {
            all.add("status");
        }
        if (omitted.kernels()) {
            all.add("kernels");
        }
        return all.isEmpty() ? "-" : String.join(" ", all);
    }

    private static Reading<ToolOutput> status(String what) {
        return what.equals("answers")
                ? Reading.of(new ToolOutput(2, Bytes.EMPTY, Bytes.EMPTY))
                : Reading.failed(Failure.valueOf(what), "it is not known");
    }

    private static ProcessFacts process(String text) {
        var words = text.split("[:=]", -1);
        var stat = words[1].matches("[0-9]+")
                ? Reading.of(SampleFacts.bytes(
                        "%s (python) S 1%s %s%s\n".formatted(words[0], " 9".repeat(17), words[1], " 9".repeat(30))))
                : Reading.<Bytes>failed(Failure.valueOf(words[1]), "");
        var environ = words[2].equals("answers")
                ? SAMPLE.processes().getFirst().environ()
                : Reading.<EnvironFacts>failed(Failure.valueOf(words[2]), "");
        return new ProcessFacts(
                Integer.parseInt(words[0]), stat, Reading.of(1000L), environ, Reading.failed(Failure.OTHER, ""), stat);
    }

    private void record() {
        var facts = new HostFacts(
                SAMPLE.machine(),
                SAMPLE.access(),
                accounts,
                SAMPLE.programs(),
                gpu,
                SAMPLE.processes(),
                SAMPLE.ancestors(),
                SAMPLE.earlierState(),
                SAMPLE.state(),
                new LivenessFacts(Reading.of(List.of()), kernels),
                SAMPLE.enforcers(),
                SAMPLE.verified());
        memory.remember(new Answer.Observed(facts, toolHangs, kernels.equals(HANG)), memory.omitted());
    }
}
