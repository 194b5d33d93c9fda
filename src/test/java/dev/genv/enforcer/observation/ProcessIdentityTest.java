package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcessIdentityTest {
    private static final Content INTACT_EMPTY = new Content.Intact(new Membership.Outside());
    private static final Content INTACT_A = new Content.Intact(new Membership.InEnvironment("a"));
    private static final Content OVERWRITTEN = new Content.Overwritten();
    private static final Content NOT_AVAILABLE =
            new Content.Unavailable(new Membership.Unknown("its environ is not available at this moment"));

    @Test
    void environIsIntactIfItIsWhereExecveWroteItAndWellFormed() {
        assertThat(content(environ(22, "a", true), addresses(7000, 7022))).isEqualTo(INTACT_A);
        assertThat(content(environ(0, "", true), addresses(7000, 7000))).isEqualTo(INTACT_EMPTY);
    }

    /** An id that is still readable may be half of one. */
    @Test
    void environThatIsNotWellFormedSaysNothing() {
        assertThat(content(environ(22, "a", false), addresses(7000, 7022))).isEqualTo(OVERWRITTEN);
        assertThat(content(environ(22, "", false), addresses(7000, 7022))).isEqualTo(OVERWRITTEN);
    }

    @ParameterizedTest
    @CsvSource({"7000, 7023", "7001, 7023", "6999, 7021", "7000, 7000"})
    void environThatIsNotWhereExecveWroteItSaysNothing(long begin, long end) {
        assertThat(content(environ(22, "a", true), addresses(begin, end))).isEqualTo(OVERWRITTEN);
    }

    /** A process moves its environ itself with prctl(2) PR_SET_MM_MAP, and would never be checked if it were unavailable then. */
    @Test
    void environThatMovesWhileItIsReadSaysNothing() {
        var environ = environ(22, "a", true);
        assertThat(content(environ, 'S', addresses(7000, 7022), addresses(7000, 7021)))
                .isEqualTo(OVERWRITTEN);
        assertThat(content(environ, 'S', addresses(7000, 7021), addresses(7000, 7022)))
                .isEqualTo(OVERWRITTEN);
        assertThat(content(environ, 'S', addresses(7000, 7022), addresses(0, 0)))
                .isEqualTo(OVERWRITTEN);
    }

    @Test
    void emptyEnvironIsNoAnswerDuringExecve() {
        var environ = environ(0, "", true);
        assertThat(content(environ, 'S', addresses(0, 0), addresses(7000, 7000)))
                .isEqualTo(NOT_AVAILABLE);
        assertThat(content(environ, 'S', addresses(7000, 7000), addresses(0, 0)))
                .isEqualTo(NOT_AVAILABLE);
        assertThat(content(environ, 'S', addresses(0, 0), addresses(0, 0))).isEqualTo(NOT_AVAILABLE);
    }

    /** Without its first thread, a process has no addresses, and an empty environ may be one that is not mapped. */
    @Test
    void environOfAnotherThreadIsIntactIfItIsWellFormedAndNotEmpty() {
        var none = addresses(0, 0);
        assertThat(content(environ(22, "a", true), 'Z', none, none)).isEqualTo(INTACT_A);
        assertThat(content(environ(22, "a", false), 'Z', none, none)).isEqualTo(OVERWRITTEN);
        assertThat(content(environ(0, "", true), 'Z', none, none)).isEqualTo(OVERWRITTEN);
    }

    private static Content content(EnvironFacts environ, long[] addresses) {
        return content(environ, 'S', addresses, addresses);
    }

    private static Content content(EnvironFacts environ, char state, long[] before, long[] after) {
        var facts = new ProcessFacts(
                812,
                stat(state, before),
                Reading.of(1000L),
                Reading.of(environ),
                Reading.failed(Failure.SKIPPED, ""),
                stat(state, after));
        return ((ProcessIdentity.Present) ProcessIdentity.of(facts))
                .process()
                .environ()
                .content();
    }

    private static EnvironFacts environ(long size, String id, boolean wellFormed) {
        return new EnvironFacts(size, Bytes.of(id.getBytes(StandardCharsets.US_ASCII)), "", wellFormed, Bytes.EMPTY);
    }

    /** The fields 48 to 51: the arguments end at 7000 unless the environment has no address. */
    private static long[] addresses(long environBegin, long environEnd) {
        var argumentsEnd = environEnd == 0 ? 0 : 7000;
        return new long[] {argumentsEnd == 0 ? 0 : 6000, argumentsEnd, environBegin, environEnd};
    }

    /** Two threads run, so the process is no zombie although its first thread has exited. */
    private static Reading<Bytes> stat(char state, long[] addresses) {
        var text = new StringBuilder("812 (python) ").append(state);
        for (var field = 4; field <= 52; field++) {
            var isAddress = field >= 48 && field <= 51;
            text.append(' ').append(isAddress ? addresses[field - 48] : field == 20 ? 2 : 1);
        }
        return Reading.of(Bytes.of(text.toString().getBytes(StandardCharsets.US_ASCII)));
    }
}
