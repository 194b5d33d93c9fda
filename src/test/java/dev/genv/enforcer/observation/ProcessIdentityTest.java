package dev.genv.enforcer.observation;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcessIdentityTest {
    private static final Content UNAVAILABLE =
            new Content.Unavailable(new Membership.Unknown("its environ is not available at this moment"));

    /**
     * An environ, the state of the first thread, and where it is before and after it is read: the fields 50 and 51, after arguments that end
     * at 7000. An address of 0 is unknown.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # where execve(2) wrote it
        22 | a  | true  | S | 7000 | 7022 | 7000 | 7022 | in a
        0  | '' | true  | S | 7000 | 7000 | 7000 | 7000 | outside
        # not well-formed: an id that is still readable may be half of one
        22 | a  | false | S | 7000 | 7022 | 7000 | 7022 | overwritten
        22 | '' | false | S | 7000 | 7022 | 7000 | 7022 | overwritten
        # elsewhere
        22 | a  | true  | S | 7000 | 7023 | 7000 | 7023 | overwritten
        22 | a  | true  | S | 7001 | 7023 | 7001 | 7023 | overwritten
        22 | a  | true  | S | 6999 | 7021 | 6999 | 7021 | overwritten
        22 | a  | true  | S | 7000 | 7000 | 7000 | 7000 | overwritten
        # moved while it is read, as with PR_SET_MM_MAP of prctl(2): it would never be checked if it were unavailable then
        22 | a  | true  | S | 7000 | 7022 | 7000 | 7021 | overwritten
        22 | a  | true  | S | 7000 | 7021 | 7000 | 7022 | overwritten
        # empty during execve(2): no answer
        0  | '' | true  | S | 0    | 0    | 7000 | 7000 | unavailable
        0  | '' | true  | S | 7000 | 7000 | 0    | 0    | unavailable
        0  | '' | true  | S | 0    | 0    | 0    | 0    | unavailable
        # zeros of a living thread: the kernel does not permit to read them, or it is in execve, and a process cannot set them
        22 | a  | true  | S | 0    | 0    | 0    | 0    | denied
        22 | '' | true  | S | 0    | 0    | 0    | 0    | denied
        22 | a  | false | R | 0    | 0    | 0    | 0    | denied
        22 | a  | true  | S | 7000 | 7022 | 0    | 0    | denied
        22 | a  | true  | S | 0    | 0    | 7000 | 7022 | denied
        # of a first thread that has exited, without the stats of another thread
        22 | a  | true  | Z | 0    | 0    | 0    | 0    | denied
        0  | '' | true  | Z | 0    | 0    | 0    | 0    | unavailable
        """)
    void environSaysSomethingOnlyIfItIsAsExecveWroteIt(
            long size,
            String id,
            boolean wellFormed,
            char state,
            long begin,
            long end,
            long laterBegin,
            long laterEnd,
            String expected) {
        var facts = new ProcessFacts(
                812,
                stat(state, begin, end),
                Reading.of(1000L),
                Reading.of(new EnvironFacts(size, Bytes.of(id.getBytes(US_ASCII)), "", wellFormed)),
                Reading.failed(Failure.SKIPPED, ""),
                stat(state, laterBegin, laterEnd));
        var process = ((ProcessIdentity.Present) ProcessIdentity.of(facts)).process();
        assertThat(process.environ().content())
                .isEqualTo(
                        switch (expected) {
                            case "in a" -> new Content.Intact(new Membership.InEnvironment("a"));
                            case "outside" -> new Content.Intact(new Membership.Outside());
                            case "overwritten" -> new Content.Overwritten();
                            case "denied" -> new Content.Unavailable(Membership.NOT_PERMITTED);
                            default -> UNAVAILABLE;
                        });
    }

    /** Two threads run, so the process is no zombie although its first thread has exited. */
    private static Reading<Bytes> stat(char state, long begin, long end) {
        var arguments = end == 0 ? 0L : 7000L;
        return Reading.of(FactsMachine.stat(
                812, state, Map.of(20, 2L, 48, Math.min(arguments, 6000), 49, arguments, 50, begin, 51, end)));
    }
}
