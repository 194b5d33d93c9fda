package dev.genv.enforcer.observation;

import static dev.genv.enforcer.observation.NameService.DAY;
import static dev.genv.enforcer.observation.NameService.HOUR;
import static dev.genv.enforcer.observation.NameService.MINUTE;
import static dev.genv.enforcer.observation.NameService.MOST_ASKED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Accounts;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NameServiceTest {
    private static final String ALICE = "alice:x:5000:1::/:/bin/sh\n";
    private static final Accounts LOCAL = new Accounts(Map.of("root", 0L, "bob", 1004L));

    private final NameService service = new NameService();
    private long now = 1000;

    /** Users, what the name service answers if they are asked for, and the accounts that are then known. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        5000       | alice:x:5000:1::/:/bin/sh          | {alice=5000}
        alice      | alice:x:5000:                      | {alice=5000}
        alice      |                                    | {}
        # two accounts with one uid
        5000 al    | alice:x:5000:\\nal:x:5000:         | {al=5000, alice=5000}
        # in another form: a name with which a user had a second quota
        ALICE      | alice:x:5000:                      | {}
        # a number with which getent(1) finds another uid
        4294967296 | root:x:0:                          | {}
        5000       | alice:x:5001:                      | {}
        5000       | garbage\\n:::\\n\\0            | {}
        # not asked for
        root 1004  | root:x:9:\\neve:x:1004:            | {}
        """)
    void knowsWhatIsFoundForWhatWasAsked(String users, @Nullable String answer, String known) {
        var asked = service.next(List.of(users.split(" ", -1)), LOCAL);
        assertThat(asked.isEmpty()).isEqualTo(users.startsWith("root"));
        learn(answer(answer == null ? "" : answer.translateEscapes()));
        assertThat(new TreeMap<>(service.accounts())).hasToString(known);
    }

    @Test
    void accountOfTheFileHasPrecedence() {
        var all = LOCAL.with(Map.of("bob", 5000L, "alice", 1004L));
        assertThat(all.uidOf("bob")).hasValue(1004L);
        assertThat(all.namesOf(5000)).isEmpty();
        assertThat(all.namesOf(1004)).containsExactlyInAnyOrder("alice", "bob");
    }

    /** They could be options, several fields or lines, or other characters in another locale. */
    @ParameterizedTest
    @ValueSource(
            strings = {"", "-s", "--service=x", "+alice", " 5000", "a:b", "a\nb", "a\0", "ålice", "12345678901x\t"})
    void asksForNoOtherNames(String name) {
        assertThat(service.next(List.of(name, "a".repeat(257), "CORP\\alice", "alice@corp", "2b"), LOCAL))
                .containsExactly("CORP\\alice", "alice@corp", "2b");
    }

    @Test
    void asksAgainAfterAMinuteOrAfterAnHour() {
        ask(answer(ALICE), "5000", "eve");
        assertThat(whenAskedAgain("5000", "eve")).isEqualTo("eve after 6000, 5000 after 360000");
    }

    private String whenAskedAgain(String... users) {
        var times = new ArrayList<String>();
        for (long ticks = 0; ticks <= 2 * HOUR; ticks += MINUTE / 2) {
            for (var user : service.next(List.of(users), LOCAL)) {
                if (times.stream().noneMatch(time -> time.startsWith(user))) {
                    times.add(user + " after " + ticks);
                }
            }
            now += MINUTE / 2;
            learn(AccountFacts.NOT_ASKED);
        }
        return String.join(", ", times);
    }

    /** An answer or a failure a time after alice was found, and whether she is still known. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        1   | 5000     |                | true
        23  | 5000     |                | true
        24  | 5000     |                | false
        24  |          |                | false
        # the directory answers, but knows her no more, or by another name
        1   | 5000 eve | eve:x:6000:    | false
        1   | 5000     | alicia:x:5000: | false
        # it does not answer
        23  | 5000     | failure        | true
        24  | 5000     | failure        | false
        """)
    void accountThatIsNotFoundAgainStaysForADay(
            int hours, @Nullable String asked, @Nullable String answer, boolean isKnown) {
        ask(answer(ALICE), "5000");
        now += hours * HOUR;
        learn(AccountFacts.NOT_ASKED);
        var reading = "failure".equals(answer) ? failed(Failure.TIMEOUT) : answer(answer == null ? "" : answer);
        if (asked != null) {
            ask(reading, asked.split(" ", -1));
        }
        assertThat(service.accounts().containsKey("alice")).isEqualTo(isKnown);
        assertThat(DAY).isEqualTo(24 * HOUR);
    }

    @Test
    void asksFewerUsersLessOftenWhileItFails() {
        var users = IntStream.range(0, 200).mapToObj(i -> "u" + i).toList();
        var pauses = new ArrayList<Long>();
        var sizes = new ArrayList<Integer>();
        for (var attempt = 0; attempt < 8; attempt++) {
            var begin = now;
            while (service.next(users, LOCAL).isEmpty()) {
                now += MINUTE;
                learn(AccountFacts.NOT_ASKED);
            }
            pauses.add((now - begin) / MINUTE);
            sizes.add(service.next(users, LOCAL).size());
            assertThat(learn(failed(Failure.TIMEOUT)))
                    .containsExactly("the name service of this host does not answer: why");
        }
        assertThat(pauses).containsExactly(0L, 1L, 2L, 4L, 8L, 16L, 32L, 60L);
        assertThat(sizes).containsExactly(MOST_ASKED, 16, 8, 4, 2, 1, 1, 1);
        now += HOUR;
        assertThat(learn(AccountFacts.NOT_ASKED)).as("until it answers again").hasSize(1);
        ask(answer(""), "alice");
        assertThat(learn(AccountFacts.NOT_ASKED)).isEmpty();
        assertThat(service.next(users, LOCAL)).hasSize(2);
    }

    /** A user can record any number of names. */
    @Test
    void asksForSomeUsersAtOnceInTheirOrder() {
        var users = IntStream.range(0, 100).mapToObj(i -> "u" + i).toList();
        assertThat(ask(answer(""), users.toArray(String[]::new))).isEqualTo(users.subList(0, 32));
        assertThat(service.next(users, LOCAL)).isEqualTo(users.subList(32, 64));
    }

    @Test
    void containerHasNoNameServiceOfTheHostAndNoProblem() {
        service.next(List.of("alice"), LOCAL);
        assertThat(learn(failed(Failure.ABSENT))).isEmpty();
    }

    private List<String> ask(Reading<Bytes> answer, String... users) {
        var asked = service.next(List.of(users), LOCAL);
        learn(answer);
        return asked;
    }

    private List<String> learn(Reading<Bytes> answer) {
        var findings = new Findings();
        service.learn(answer, now, findings);
        return findings.problems().stream().map(problem -> problem.detail()).toList();
    }

    private static Reading<Bytes> answer(String lines) {
        return Reading.of(Bytes.of(lines.getBytes(StandardCharsets.UTF_8)));
    }

    private static Reading<Bytes> failed(Failure failure) {
        return Reading.failed(failure, "why");
    }
}
