package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.model.Membership;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcessIdentityTest {
    private static final int ENVIRONMENT_END = 51;
    private static final Membership NOT_AVAILABLE =
            new Membership.Unknown("its environ is not available at this moment");

    /** A process changes the address of its environment itself with prctl(2) PR_SET_MM, and would never be checked otherwise. */
    @ParameterizedTest
    @CsvSource({"7000, 7001", "7001, 7000", "0, 7000", "7000, 0"})
    void processThatMovesItsEnvironmentStaysAMember(long endBefore, long endAfter) {
        assertThat(membership(environ("a"), 'S', endBefore, endAfter)).isEqualTo(new Membership.InEnvironment("a"));
    }

    @ParameterizedTest
    @CsvSource({"0, 7000", "7000, 0", "0, 0"})
    void emptyEnvironIsNoAnswerDuringExecve(long endBefore, long endAfter) {
        assertThat(membership(environ(""), 'S', endBefore, endAfter)).isEqualTo(NOT_AVAILABLE);
    }

    @ParameterizedTest
    @CsvSource({"S, 7000, 7001", "S, 7000, 7000", "Z, 0, 0"})
    void processWithAnEmptyEnvironIsOutside(char state, long endBefore, long endAfter) {
        assertThat(membership(environ(""), state, endBefore, endAfter)).isEqualTo(new Membership.Outside());
    }

    private static Membership membership(EnvironFacts environ, char state, long endBefore, long endAfter) {
        var facts = new ProcessFacts(
                812,
                stat(state, endBefore),
                Reading.of(1000L),
                Reading.of(environ),
                Reading.failed(Failure.SKIPPED, ""),
                stat(state, endAfter));
        return ((ProcessIdentity.Present) ProcessIdentity.of(facts)).process().membership();
    }

    private static EnvironFacts environ(String id) {
        return new EnvironFacts(id.length(), Bytes.of(id.getBytes(StandardCharsets.US_ASCII)), "", true);
    }

    /** Two threads run, so the process is no zombie although its first thread has exited. */
    private static Reading<Bytes> stat(char state, long environmentEnd) {
        var text = new StringBuilder("812 (python) ").append(state);
        for (var field = 4; field <= 52; field++) {
            var value = field == ENVIRONMENT_END ? environmentEnd : field == 20 ? 2 : 1;
            text.append(' ').append(value);
        }
        return Reading.of(Bytes.of(text.toString().getBytes(StandardCharsets.US_ASCII)));
    }
}
