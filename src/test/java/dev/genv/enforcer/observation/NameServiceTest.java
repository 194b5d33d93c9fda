package dev.genv.enforcer.observation;

import static dev.genv.enforcer.observation.NameService.DAY;
import static dev.genv.enforcer.observation.NameService.HOUR;
import static dev.genv.enforcer.observation.NameService.MINUTE;
import static dev.genv.enforcer.observation.NameService.MOST_ASKED;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toMap;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.observation.NameService.Found;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NameServiceTest {
    private static final String ALICE = "alice:x:5000:1::/:/bin/sh\n";
    private static final Accounts LOCAL = new Accounts(Map.of("root", 0L, "bob", 1004L));

    private final NameService service = new NameService();
    private final long at = 1_800_000_000;
    private List<String> asked = List.of();
    private long now = 1000;

    /** Users, what the name service answers if they are asked for, and the accounts that are then known. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        5000       | alice:x:5000:1::/:/bin/sh          | {alice=5000}
        alice      | alice:x:5000:                      | {alice=5000}
        alice      |                                    | {}
        # two accounts with one uid
        5000 al    | alice:x:5000:\\nal:x:5000:         | {al=5000, alice=5000}
        # a directory that ignores the case, or knows the name under another form
        ALICE      | alice:x:5000:                      | {alice=5000}
        alice@corp | alice:x:5000:                      | {alice=5000}
        # it may be the answer for another name
        ALICE eve  | alice:x:5000:                      | {}
        corp\\alice Alice 5000 | alice:x:5000:                | {alice=5000}
        eve alice@corp | alice:x:5000:                  | {}
        ALICE      | alice:x:5000:\\nAlice:x:5001:        | {}
        # a number with which getent(1) finds another uid
        4294967296 | root:x:0:                          | {}
        5000       | alice:x:5001:                      | {}
        5000       | garbage\\n:::\\n\\0            | {}
        # not asked for
        root 1004  | root:x:9:\\neve:x:1004:            | {}
        """)
    void knowsWhatIsFoundForWhatWasAsked(String users, @Nullable String answer, String known) {
        var asked = next(users.split(" ", -1));
        assertThat(asked.isEmpty()).isEqualTo(users.startsWith("root"));
        learn(answer(answer == null ? "" : answer.translateEscapes()));
        assertThat(new TreeMap<>(service.accounts())).hasToString(known);
    }

    /** What the directory finds for what is asked, the accounts and spellings that are then known, and what was asked in each call. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        CORP\\alice=alice:5000 eve=                | {alice=5000} | {CORP\\alice=alice}    | CORP\\alice eve, CORP\\alice, -, eve
        alice@corp=alice:5000 5000=alice:5000      | {alice=5000} | {alice@corp=alice}    | alice@corp 5000, alice@corp
        alice=alice@corp:5000 bob@corp=bob@corp:1004 | {alice@corp=5000, bob@corp=1004} | {alice=alice@corp} | alice bob@corp, alice
        ALICE=alice:5000 corp\\alice=alice:5000 Bob=bob:1009 | {alice=5000, bob=1009} | {ALICE=alice, Bob=bob, corp\\alice=alice} \
        | ALICE corp\\alice Bob, ALICE, -, corp\\alice, -, Bob
        # without a line too many, what has none is not found
        alice=alice:5000 eve=                      | {alice=5000} | {}                    | alice eve
        20231234=                                  | {}           | {}                    | 20231234
        20231234= 70011=20231234:70011 CORP\\a=a:7  | {20231234=70011, a=7} | {CORP\\a=a}     | 20231234 70011 CORP\\a, CORP\\a
        """)
    void asksByItselfWhatCannotBeAttributed(String directory, String accounts, String spellings, String calls) {
        var answers = Stream.of(directory.split(" ", -1))
                .map(entry -> entry.split("=", -1))
                .collect(toMap(entry -> entry[0], entry -> entry[1], (one, _) -> one, LinkedHashMap::new));
        var made = new ArrayList<String>();
        for (var call = 0; call < 2 * answers.size(); call++) {
            var asked = next(List.copyOf(answers.keySet()));
            made.add(asked.isEmpty() ? "-" : String.join(" ", asked));
            learn(
                    asked.isEmpty()
                            ? AccountFacts.NOT_ASKED
                            : answer(asked.stream()
                                    .map(answers::get)
                                    .filter(account -> !account.isEmpty())
                                    .map(account -> account.replace(":", ":x:") + ":1::/:\n")
                                    .collect(joining())));
        }
        assertThat(new TreeMap<>(service.accounts())).hasToString(accounts);
        assertThat(new TreeMap<>(service.spellings())).hasToString(spellings);
        assertThat(String.join(", ", made).replaceFirst("(, -)+$", "")).isEqualTo(calls);
    }

    /** Users can record any number of names in other forms, so that every other call is for names in common. */
    @Test
    void namesInOtherFormsDelayOthersByOneCall() {
        var forged = IntStream.range(0, 100).mapToObj("CORP\\u%d"::formatted).toList();
        for (var call = 0; call < 20; call++) {
            var users = new ArrayList<>(forged);
            users.add(0, "new" + call);
            var asked = next(users);
            if (call % 2 == 0) {
                assertThat(asked).hasSize(MOST_ASKED).contains("new" + call);
            } else {
                assertThat(asked).hasSize(1);
                assertThat(service.room()).isZero();
            }
            learn(answer(asked.stream()
                    .map(user -> user.replace("CORP\\", "") + ":x:7000:1:::\n")
                    .collect(joining())));
        }
    }

    /** An account that a case-sensitive directory found under its own name is no other spelling. */
    @Test
    void otherSpellingsNameTheAccount() {
        ask(answer(ALICE), "ALICE");
        assertThat(service.spellings()).isEqualTo(Map.of("ALICE", "alice"));
        var accounts = LOCAL.with(service.accounts(), service.spellings());
        assertThat(accounts.uidOf("ALICE")).hasValue(5000L);
        assertThat(accounts.nameOf("ALICE")).isEqualTo("alice");
        assertThat(accounts.namesOf(5000)).containsExactly("alice");
        ask(answer(ALICE), "Alice", "alice");
        assertThat(service.spellings()).isEqualTo(Map.of("ALICE", "alice"));
    }

    @Test
    void accountOfTheFileHasPrecedence() {
        var all = LOCAL.with(Map.of("bob", 5000L, "alice", 1004L), Map.of());
        assertThat(all.uidOf("bob")).hasValue(1004L);
        assertThat(all.namesOf(5000)).isEmpty();
        assertThat(all.namesOf(1004)).containsExactlyInAnyOrder("alice", "bob");
    }

    /** They could be options, several fields or lines, or other characters in another locale. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "-s",
                "99999999999999999999",
                "--service=x",
                "+alice",
                " 5000",
                "a:b",
                "a\nb",
                "a\0",
                "ålice",
                "12345678901x\t"
            })
    void asksForNoOtherNames(String name) {
        assertThat(next(name, "a".repeat(257), "CORP\\alice", "alice@corp", "2b"))
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
            for (var user : next(users)) {
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
        24  |          |                | true
        # another account is found, perhaps by another directory, or she has another name
        1   | 5000 eve | eve:x:6000:    | true
        1   | 5000     | alicia:x:5000: | false
        # it does not answer
        24  | 5000     | failure        | true
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
            while (next(users).isEmpty()) {
                now += MINUTE;
                learn(AccountFacts.NOT_ASKED);
            }
            pauses.add((now - begin) / MINUTE);
            sizes.add(next(users).size());
            assertThat(learn(failed(Failure.TIMEOUT)))
                    .containsExactly("the name service of this host does not answer: why");
        }
        assertThat(pauses).containsExactly(0L, 1L, 2L, 4L, 8L, 16L, 32L, 60L);
        assertThat(sizes).containsExactly(MOST_ASKED, 16, 8, 4, 2, 1, 1, 1);
        now += HOUR;
        assertThat(learn(AccountFacts.NOT_ASKED)).as("until it answers again").hasSize(1);
        ask(answer(""), "alice");
        assertThat(learn(AccountFacts.NOT_ASKED)).isEmpty();
        assertThat(next(users)).hasSize(2);
    }

    /** An observation asks for the uids that it is the first to show. */
    @Test
    void knowsUidsThatAnObservationAskedFor() {
        next("bob");
        assertThat(service.room()).isEqualTo(MOST_ASKED);
        service.learn(List.of("5000", "6000"), answer(ALICE), now, at, new Findings());
        assertThat(service.accounts()).containsExactly(Map.entry("alice", 5000L));
        assertThat(service.knownUids(List.of("bob", "1004"))).containsExactlyInAnyOrder(1004L, 5000L, 6000L);
        now += MINUTE;
        learn(AccountFacts.NOT_ASKED);
        assertThat(service.knownUids(List.of())).as("to be asked again").containsExactly(5000L);
        next("bob", "eve");
        assertThat(service.room()).as("eve, and 6000 again").isEqualTo(MOST_ASKED - 2);
        learn(failed(Failure.TIMEOUT));
        next("bob");
        assertThat(service.room()).as("after a failure").isZero();
    }

    /** A message about its last process waits for the name. */
    @Test
    void asksForAnUnknownUidForAnHourAlthoughNoProcessHasItAnyMore() {
        ask(failed(Failure.TIMEOUT), "5000", "eve");
        assertThat(next()).isEmpty();
        now += MINUTE;
        learn(AccountFacts.NOT_ASKED);
        assertThat(next()).containsExactly("5000");
        learn(answer(""));
        now += HOUR - MINUTE;
        learn(AccountFacts.NOT_ASKED);
        assertThat(next()).isEmpty();
    }

    /** A user can record any number of names. */
    @Test
    void asksForSomeUsersAtOnceInTheirOrder() {
        var users = IntStream.range(0, 100).mapToObj(i -> "u" + i).toList();
        assertThat(ask(answer(""), users.toArray(String[]::new))).isEqualTo(users.subList(0, 32));
        assertThat(next(users)).isEqualTo(users.subList(32, 64));
    }

    /** Otherwise somebody's forged names could make an exempt user unknown. */
    @Test
    void unknownNamesDisplaceNoAccount() {
        ask(answer(ALICE), "alice");
        var forged = IntStream.range(0, 2 * NameService.MOST_UNKNOWN)
                .mapToObj(i -> "u" + i)
                .toList();
        for (var from = 0; from < forged.size(); from += MOST_ASKED) {
            ask(
                    answer(""),
                    forged.subList(from, Math.min(from + MOST_ASKED, forged.size()))
                            .toArray(String[]::new));
        }
        assertThat(service.accounts()).containsOnlyKeys("alice");
        assertThat(next(forged.getFirst(), forged.getLast()))
                .as("forgotten, and still known")
                .containsExactly("u0");
        now += HOUR;
        learn(AccountFacts.NOT_ASKED);
        assertThat(next("u0", "new", "alice")).containsExactly("alice", "u0", "new");
    }

    /** Its clock begins again. */
    @Test
    void accountsStayWhenTheHostIsStartedAgain() {
        now = 30 * DAY;
        ask(answer(ALICE), "alice");
        now = 1000;
        learn(AccountFacts.NOT_ASKED);
        assertThat(service.accounts()).containsKey("alice");
        now += HOUR;
        learn(AccountFacts.NOT_ASKED);
        ask(answer(""), "alice");
        assertThat(service.accounts()).containsKey("alice");
    }

    /** A restarted service keeps an account for the rest of the day. */
    @Test
    void accountsThatAnEarlierRunFoundStayForTheRestOfTheDay() {
        service.restore(Map.of("alice", new Found(5000, at - 20 * 3600)));
        learn(AccountFacts.NOT_ASKED);
        assertThat(service.accounts()).containsEntry("alice", 5000L);
        assertThat(service.found(5)).containsEntry("alice", new Found(5000, at - 20 * 3600));
        assertThat(ask(answer(""), "alice")).containsExactly("alice");
        assertThat(service.accounts()).containsKey("alice");
        now += 4 * HOUR;
        learn(AccountFacts.NOT_ASKED);
        ask(answer(""), "alice");
        assertThat(service.accounts()).isEmpty();
    }

    @Test
    void remembersAtMostSoManyAccounts() {
        ask(answer(ALICE + "eve:x:6000:\n"), "alice", "eve");
        assertThat(service.found(1)).containsOnlyKeys("eve");
    }

    @Test
    void containerHasNoNameServiceOfTheHostAndNoProblem() {
        next("alice");
        assertThat(learn(failed(Failure.ABSENT))).isEmpty();
    }

    private List<String> ask(Reading<Bytes> answer, String... users) {
        var asked = next(users);
        learn(answer);
        return asked;
    }

    private List<String> next(String... users) {
        return next(List.of(users));
    }

    private List<String> next(List<String> users) {
        asked = service.next(users, LOCAL);
        return asked;
    }

    private List<String> learn(Reading<Bytes> answer) {
        var findings = new Findings();
        service.learn(asked, answer, now, at, findings);
        asked = List.of();
        return findings.problems().stream().map(problem -> problem.detail()).toList();
    }

    private static Reading<Bytes> answer(String lines) {
        return Reading.of(Bytes.of(lines.getBytes(StandardCharsets.UTF_8)));
    }

    private static Reading<Bytes> failed(Failure failure) {
        return Reading.failed(failure, "why");
    }
}
