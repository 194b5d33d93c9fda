package dev.genv.enforcer.config;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.config.settings.RuleSettings;
import dev.genv.enforcer.config.settings.SettingsReader;
import dev.genv.enforcer.config.settings.Variables;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.policy.PolicyInForce;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class PolicySourceTest {
    private static final String ANOTHER = "max_devices: {default: 5}\n";

    @TempDir
    Path folder;

    private Path file;
    private Instant now;

    @BeforeEach
    void write() throws IOException {
        file = Files.writeString(folder.resolve("policy.yaml"), "max_devices: {default: 2}\n");
        now = Instant.now().plus(Duration.ofHours(1));
    }

    private PolicySource source() {
        return new PolicySource(
                Optional.of(file),
                RuleSettings.values(
                        RuleSettings.read(new Variables(Map.of(
                                "GENV_ENFORCER_MAX_DEVICES_PER_USER", "7",
                                "GENV_ENFORCER_MAX_DEVICES_FOR_USER", "john=3,paul=2"))),
                        List.of("root"),
                        List.of("/kubepods")),
                IdleLimits.DEFAULT,
                ZoneOffset.UTC,
                TestTimeouts.HANG);
    }

    private static @Nullable Integer limit(PolicyInForce policy) {
        return policy.policy().configOf(Rules.MAX_DEVICES_PER_USER).limits().general();
    }

    private static List<String> problems(PolicySource source) {
        return source.problems().stream().map(Problem::detail).toList();
    }

    @Test
    void theFileOverridesTheVariablesKeyByKey() throws Exception {
        Files.writeString(
                file, "max_devices: {users: {john: 9}}\nexempt: {users: [svc]}\nrules: {env-devices: audit}\n");
        var policy = source().at(now);
        var limits = policy.policy().configOf(Rules.MAX_DEVICES_PER_USER).limits();
        assertThat(limits.general()).isEqualTo(7);
        assertThat(limits.perUser()).containsOnly(Map.entry("john", 9), Map.entry("paul", 2));
        assertThat(policy.values().all().values().stream()
                        .map(each -> each.origin())
                        .distinct())
                .contains(
                        "GENV_ENFORCER_MAX_DEVICES_FOR_USER",
                        "GENV_ENFORCER_EXEMPT_USERS",
                        "GENV_ENFORCER_EXEMPT_CGROUPS",
                        "line 1 of the policy file",
                        "line 2 of the policy file",
                        "line 3 of the policy file");
    }

    @Test
    void withoutAFileTheVariablesApply() {
        var source = new PolicySource(
                Optional.empty(),
                RuleSettings.values(RuleSettings.read(new Variables(Map.of())), List.of(), List.of()),
                IdleLimits.DEFAULT,
                ZoneOffset.UTC,
                TestTimeouts.HANG);
        assertThat(limit(source.at(now))).isNull();
        assertThat(source.problems()).isEmpty();
    }

    /** So a restart with others is a change, as it is stored. */
    @Test
    void variablesThatNoFileHasAreValuesToo() throws Exception {
        var usual = new PolicySource(SettingsReader.read(new Variables(Map.of())), ZoneOffset.UTC);
        var others = SettingsReader.read(new Variables(Map.of(
                "GENV_ENFORCER_IDLE_AFTER", "5h",
                "GENV_ENFORCER_IDLE_UTILIZATION", "7",
                "GENV_ENFORCER_PROTECTED_EXECUTABLES", "/opt/server@alice",
                "GENV_ENFORCER_OVERWRITTEN_ENVIRON", "outside",
                "GENV_ENFORCER_GRACE", "1s")));
        var values = new PolicySource(others, ZoneOffset.UTC).at(now).values();
        var stored = PolicyValues.of(usual.at(now).values().texts());
        assertThat(stored.hasSettingsOf(usual.ofVariables())).isTrue();
        assertThat(stored.hasSettingsOf(values)).isFalse();
        assertThat(stored.changes(values))
                .extracting(change -> change.substring(0, change.indexOf(':')))
                .containsExactly(
                        "GENV_ENFORCER_IDLE_AFTER",
                        "GENV_ENFORCER_IDLE_UTILIZATION",
                        "GENV_ENFORCER_OVERWRITTEN_ENVIRON",
                        "GENV_ENFORCER_PROTECTED_EXECUTABLES");
    }

    @Test
    void anUnchangedFileGivesTheSamePolicy() {
        var source = source();
        assertThat(source.at(now)).isSameAs(source.at(now.plusSeconds(10)));
    }

    @Test
    void aChangeAppliesOnceTheFileIsNoLongerWritten() throws Exception {
        var source = source();
        assertThat(limit(source.at(now))).isEqualTo(2);
        Files.writeString(file, ANOTHER);
        Files.setLastModifiedTime(file, FileTime.from(now));
        assertThat(limit(source.at(now.plusSeconds(1)))).isEqualTo(2);
        assertThat(limit(source.at(now.plusSeconds(3)))).isEqualTo(5);
        assertThat(source.problems()).isEmpty();
    }

    interface Damage {
        void apply(Path file) throws Exception;
    }

    static Stream<Map.Entry<String, Damage>> damages() {
        return Stream.of(
                Map.entry("no content", file -> Files.writeString(file, "")),
                Map.entry(
                        "line 1, column 24: max_devices.default: expected a whole number from 0, or none",
                        file -> Files.writeString(file, "max_devices: {default: x}")),
                Map.entry("no YAML", file -> Files.writeString(file, "max_devices: {default: 5")),
                Map.entry("it is longer than 262144 bytes", file -> Files.write(file, new byte[2 << 20])),
                Map.entry("No such file or directory", Files::delete),
                Map.entry("is not a regular file", file -> {
                    Files.delete(file);
                    Programs.fifo(file);
                }),
                Map.entry("is not a regular file", file -> {
                    Files.delete(file);
                    Files.createDirectory(file);
                }),
                Map.entry("others can write /dev/null", file -> {
                    Files.delete(file);
                    Files.createSymbolicLink(file, Path.of("/dev/null"));
                }),
                Map.entry("Too many levels of symbolic links", file -> {
                    Files.delete(file);
                    Files.createSymbolicLink(file, file);
                }),
                Map.entry(
                        "others can write",
                        file -> Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"))),
                Map.entry(
                        "others can write",
                        file -> Files.setPosixFilePermissions(
                                file.getParent(), PosixFilePermissions.fromString("rwxrwxrwx"))));
    }

    @ParameterizedTest
    @MethodSource("damages")
    void anUnusableFileLeavesTheLastPolicyInForce(Map.Entry<String, Damage> damage) throws Exception {
        var source = source();
        damage.getValue().apply(file);
        assertThat(limit(source.at(now))).isEqualTo(2);
        assertThat(problems(source))
                .singleElement()
                .asString()
                .startsWith(file + ": ")
                .contains(damage.getKey());
        assertThat(limit(source.at(now.plusSeconds(10)))).isEqualTo(2);

        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
        Files.deleteIfExists(file);
        Files.writeString(file, ANOTHER);
        assertThat(limit(source.at(now.plusSeconds(20)))).isEqualTo(5);
        assertThat(source.problems()).isEmpty();
    }

    @Test
    void anUnusableFileEndsTheStart() throws Exception {
        Files.writeString(file, "rules: {a: b}");
        assertThatThrownBy(this::source).hasMessageContaining("line 1, column 9: rules.a: there is no such key");
    }

    /** As the kubelet updates a ConfigMap: the file is a link through a link to a folder, which is exchanged. */
    @Test
    void theExchangeOfALinkIsAChange() throws Exception {
        Files.delete(file);
        var first = Files.createDirectory(folder.resolve("..2026_1"));
        Files.writeString(first.resolve("policy.yaml"), "max_devices: {default: 2}\n");
        Files.createSymbolicLink(folder.resolve("..data"), Path.of("..2026_1"));
        Files.createSymbolicLink(file, Path.of("..data/policy.yaml"));
        var source = source();
        var second = Files.createDirectory(folder.resolve("..2026_2"));
        Files.writeString(second.resolve("policy.yaml"), ANOTHER);
        Files.createSymbolicLink(folder.resolve("..data_tmp"), Path.of("..2026_2"));
        Files.move(folder.resolve("..data_tmp"), folder.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
        assertThat(limit(source.at(now))).isEqualTo(5);
    }

    /** Cycles look at the file all the time, also in the middle of an exchange. */
    @Test
    @Timeout(600)
    void exchangedAThousandTimesTheLastGoodContentApplies() throws Exception {
        var source = source();
        var good = new HashSet<>(Set.of(2));
        var seen = ConcurrentHashMap.<Optional<Integer>>newKeySet();
        var looks = new AtomicInteger();
        var last = new AtomicReference<>(limit(source.at(now)));
        var isOver = new AtomicBoolean();
        var cycles = CompletableFuture.runAsync(() -> {
            while (!isOver.get()) {
                last.set(limit(source.at(now)));
                seen.add(Optional.ofNullable(last.get()));
                looks.incrementAndGet();
            }
        });
        try {
            var expected = 2;
            var all = damages().toList();
            for (var i = 3; i <= 1003; i++) {
                if (i % 2 == 0) {
                    all.get(i / 2 % all.size()).getValue().apply(file);
                    awaitLooks(looks, cycles);
                    assertThat(last).as("exchange %d", i).hasValue(expected);
                    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
                } else if (i % 5 == 0) { // written a moment ago: it will be default: 100
                    replaceBy("max_devices:\n  default: 1", now);
                    awaitLooks(looks, cycles);
                    assertThat(last).as("exchange %d", i).hasValue(expected);
                } else {
                    var next = i;
                    good.add(next);
                    replaceBy("max_devices: {default: %d}".formatted(next), now.minus(Duration.ofDays(1)));
                    awaitSoon(() -> Objects.equals(last.get(), next) || cycles.isDone());
                    expected = next;
                }
            }
        } finally {
            isOver.set(true);
            cycles.get(HANG.toSeconds(), TimeUnit.SECONDS);
        }
        assertThat(seen.stream().map(Optional::orElseThrow)).isSubsetOf(good);
        assertThat(source.problems()).isEmpty();
    }

    /** Waits for a whole look that begins after this call. */
    private static void awaitLooks(AtomicInteger looks, CompletableFuture<?> cycles) {
        var first = looks.get();
        awaitSoon(() -> looks.get() > first + 1 || cycles.isDone());
    }

    private static void awaitSoon(Callable<Boolean> condition) {
        await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1)).until(condition);
    }

    private void replaceBy(String yaml, Instant written) throws IOException {
        if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
            Files.delete(file);
        }
        var draft = Files.writeString(folder.resolve("draft"), yaml);
        Files.setLastModifiedTime(draft, FileTime.from(written));
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }

    @ParameterizedTest
    @CsvSource({"2026-11-27T19:59:59Z,7", "2026-11-27T20:00:00Z,4", "2026-11-28T08:00:00Z,7"})
    void hoursBeginAndEndBetweenTwoLooks(Instant time, int limit) throws Exception {
        Files.writeString(file, "hours: [{days: Fri, from: '20:00', to: '08:00', max_devices: {default: 4}}]");
        var source = source();
        source.at(Instant.parse("2026-11-27T12:00:00Z"));
        source.at(Instant.parse("2026-11-27T21:00:00Z"));
        assertThat(limit(source.at(time))).isEqualTo(limit); // also after the clock was set back
    }
}
