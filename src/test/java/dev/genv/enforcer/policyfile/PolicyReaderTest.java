package dev.genv.enforcer.policyfile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policyfile.PolicyReader.InvalidPolicyException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class PolicyReaderTest {
    static final ZoneId ZONE = ZoneId.of("Europe/Berlin");
    static final String EXAMPLE = """
            rules: {non-env-processes: enforce, idle-devices: audit}
            max_devices: {default: 2, groups: {phd: 4, undergrad: 1}, users: {john: 3}}
            max_memory: {default: 40g, users: {john: 80g}}
            exceptions:
              - {user: bob, max_devices: 8, until: 2026-12-01, reason: paper deadline}
              - {group: course-ml, max_devices: 1, from: 2026-11-30, until: 2026-12-20}
            hours:
              - {days: Mon-Fri, from: "20:00", to: "08:00", max_devices: {default: 4, groups: {undergrad: 2}}}
            exempt: {users: [svc-infer], cgroups: [/system.slice/slurmstepd.scope]}
            """;

    static PolicyDocument read(String yaml) throws InvalidPolicyException {
        return PolicyReader.read(yaml.getBytes(StandardCharsets.UTF_8), ZONE);
    }

    private static List<String> errors(byte[] bytes) {
        var thrown = catchThrowableOfType(InvalidPolicyException.class, () -> PolicyReader.read(bytes, ZONE));
        return thrown.errors().stream().map(Object::toString).toList();
    }

    private static List<String> errors(String yaml) {
        return errors(yaml.getBytes(StandardCharsets.UTF_8));
    }

    static List<String> texts(PolicyValues values) {
        return PolicyValues.NONE.changes(values).stream()
                .map(line -> line.replace("unset -> ", ""))
                .toList();
    }

    @Test
    void readsEveryKey() throws Exception {
        var document = read(EXAMPLE);
        assertThat(texts(document.values()))
                .containsExactly(
                        "rules.idle-devices: audit (line 1 of the policy file)",
                        "rules.non-env-processes: enforce (line 1 of the policy file)",
                        "max_devices.default: 2 (line 2 of the policy file)",
                        "max_memory.default: 38146mi (line 3 of the policy file)",
                        "max_devices.groups.phd: 4 (line 2 of the policy file)",
                        "max_devices.groups.undergrad: 1 (line 2 of the policy file)",
                        "max_devices.users.john: 3 (line 2 of the policy file)",
                        "max_memory.users.john: 76293mi (line 3 of the policy file)",
                        "exempt.users.svc-infer: exempt (line 9 of the policy file)",
                        "exempt.cgroups./system.slice/slurmstepd.scope: exempt (line 9 of the policy file)");
        assertThat(texts(document.at(Instant.parse("2026-11-30T20:00:00Z"), PolicyValues.NONE)))
                .contains(
                        "max_devices.default: 4 (hours in line 8 of the policy file)",
                        "max_devices.groups.phd: 4 (line 2 of the policy file)",
                        "max_devices.groups.undergrad: 2 (hours in line 8 of the policy file)",
                        "exceptions.user bob.max_devices: 8 (exception in line 5)",
                        "exceptions.group course-ml.max_devices: 1 (exception in line 6)");
    }

    @Test
    void readsJson() throws Exception {
        var document = read("{\"rules\": {\"idle-devices\": \"audit\"}, \"max_devices\": {\"default\": 2}}");
        assertThat(texts(document.values()))
                .containsExactly(
                        "rules.idle-devices: audit (line 1 of the policy file)",
                        "max_devices.default: 2 (line 1 of the policy file)");
    }

    /** Helm writes `off` as `false`. */
    @Test
    void readsTheWordsOfYamlWithoutQuotes() throws Exception {
        assertThat(texts(read("rules: {idle-devices: off, idle-processes: false, env-devices: enforce}")
                        .values()))
                .containsExactly(
                        "rules.env-devices: enforce (line 1 of the policy file)",
                        "rules.idle-devices: off (line 1 of the policy file)",
                        "rules.idle-processes: off (line 1 of the policy file)");
        assertThat(texts(read("max_devices: {default: none}").values()))
                .containsExactly("max_devices.default: none (line 1 of the policy file)");
    }

    static Stream<Arguments> invalidFiles() {
        return Stream.of(
                Arguments.of("", "line 1, column 1: it has no content; {} is a policy without values"),
                Arguments.of("# a comment\n", "line 1, column 1: it has no content; {} is a policy without values"),
                Arguments.of("[]", "line 1, column 1: expected keys with values"),
                Arguments.of("text", "line 1, column 1: expected keys with values"),
                Arguments.of(
                        "limits: {}",
                        "line 1, column 1: limits: there is no such key; these are: rules, max_devices, max_memory, exceptions, hours, exempt"),
                Arguments.of("rules: enforce", "line 1, column 8: rules: expected keys with values"),
                Arguments.of(
                        "rules:\n  idle-device: audit",
                        "line 2, column 3: rules.idle-device: there is no such key; these are: non-env-processes, inactive-env-processes, env-devices, max-devices-per-user, env-memory, env-owner, idle-devices, idle-processes, max-memory-per-user"),
                Arguments.of(
                        "rules: {idle-devices: on}",
                        "line 1, column 23: rules.idle-devices: expected off, audit or enforce"),
                Arguments.of(
                        "rules: {idle-devices: }",
                        "line 1, column 22: rules.idle-devices: expected off, audit or enforce"),
                Arguments.of(
                        "max_devices: {default: two}",
                        "line 1, column 24: max_devices.default: expected a whole number from 0, or none"),
                Arguments.of(
                        "max_devices: {default: -1}",
                        "line 1, column 24: max_devices.default: expected a whole number from 0, or none"),
                Arguments.of(
                        "max_devices: {default: 010}",
                        "line 1, column 24: max_devices.default: expected a whole number from 0, or none"),
                Arguments.of(
                        "max_devices: {default: 1_0}",
                        "line 1, column 24: max_devices.default: expected a whole number from 0, or none"),
                Arguments.of(
                        "max_devices: {default: [2]}",
                        "line 1, column 24: max_devices.default: expected a whole number from 0, or none"),
                Arguments.of(
                        "max_devices: {users: {john: none}}",
                        "line 1, column 29: max_devices.users.john: expected a whole number from 0"),
                Arguments.of(
                        "max_devices: {users: [john]}",
                        "line 1, column 22: max_devices.users: expected keys with values"),
                Arguments.of(
                        "max_devices: {groups: {\"a b\": 1}}",
                        "line 1, column 24: max_devices.groups.a b: expected a name, or an id with a plus sign such as +1003"),
                Arguments.of(
                        "max_memory: {default: much}",
                        "line 1, column 23: max_memory.default: expected an amount of memory with its unit, such as 40g or 512mi, or none"),
                Arguments.of(
                        "max_memory: {default: 40}",
                        "line 1, column 23: max_memory.default: expected an amount of memory with its unit, such as 40g or 512mi, or none"),
                Arguments.of(
                        "max_memory: {users: {john: 0.5m}}",
                        "line 1, column 28: max_memory.users.john: expected an amount of memory with its unit, such as 40g or 512mi"),
                Arguments.of(
                        "rules: {env-memory: true}",
                        "line 1, column 21: rules.env-memory: expected off, audit or enforce"),
                Arguments.of(
                        "max_devices: {default: 1, default: 2}",
                        "line 1, column 27: max_devices.default: line 1 has this key too"),
                Arguments.of("exceptions: {user: bob}", "line 1, column 13: exceptions: expected a list"),
                Arguments.of(
                        "exceptions: [{user: bob, group: phd, max_devices: 1, until: 2026-12-01}]",
                        "line 1, column 14: exceptions: expected either user or group"),
                Arguments.of(
                        "exceptions: [{user: bob, until: 2026-12-01}]",
                        "line 1, column 14: exceptions: expected a limit: max_devices or max_memory"),
                Arguments.of(
                        "exceptions: [{user: bob, max_devices: 1}]",
                        "line 1, column 14: exceptions: expected until, because an exception ends"),
                Arguments.of(
                        "exceptions: [{user: bob, max_devices: 1, until: 2026-02-30}]",
                        "line 1, column 49: exceptions.until: expected a date such as 2026-12-01, or a time such as 2026-12-01T18:00"),
                Arguments.of(
                        "exceptions: [{user: bob, max_devices: 1, from: 2026-12-02, until: 2026-12-01}]",
                        "line 1, column 14: exceptions: it ends before it begins"),
                Arguments.of(
                        "hours: [{days: Mon-Fry, from: \"20:00\", to: \"08:00\"}]",
                        "line 1, column 16: hours.days: expected days such as Mon-Fri or Sat,Sun"),
                Arguments.of(
                        "hours: [{days: Mon, from: \"24:00\", to: \"08:00\"}]",
                        "line 1, column 27: hours.from: expected a time from 00:00 to 23:59"),
                Arguments.of("hours: [{days: Mon, to: \"08:00\"}]", "line 1, column 9: hours: expected from"),
                Arguments.of("exempt: {users: svc}", "line 1, column 17: exempt.users: expected a list"),
                Arguments.of(
                        "exempt: {users: [[svc]]}",
                        "line 1, column 18: exempt.users: expected a name, or an id with a plus sign such as +1003"),
                Arguments.of(
                        "exempt: {cgroups: [slurm]}",
                        "line 1, column 20: exempt.cgroups: expected the path of a cgroup, such as /system.slice/slurmd.service"),
                Arguments.of(
                        "exempt: {cgroups: [/a/../b]}",
                        "line 1, column 20: exempt.cgroups: expected the path of a cgroup, such as /system.slice/slurmd.service"),
                Arguments.of(
                        "max_devices: &a {default: 2}",
                        "line 1, column 14: max_devices: anchors and aliases are not supported"),
                Arguments.of(
                        "max_devices: {users: {? [a] : 2}}",
                        "line 1, column 25: max_devices.users: expected a text as key"),
                Arguments.of(
                        "max_devices: {default: 2",
                        "line 1, column 25: no YAML: expected ',' or '}', but got <stream end>"),
                Arguments.of("a: *b", "line 1, column 4: no YAML: found undefined alias b"),
                Arguments.of("{}\n---\n{}", "line 2, column 1: no YAML: but found another document"),
                Arguments.of("[".repeat(1000), "line 1, column 1: Nesting Depth exceeded max 16"),
                Arguments.of("{}\n# \u0007", "line 2, column 3: this control character is not permitted"),
                Arguments.of("\u0000", "line 1, column 1: this control character is not permitted"));
    }

    @ParameterizedTest
    @MethodSource("invalidFiles")
    void namesTheLineAndTheColumnOfAnError(String yaml, String error) {
        assertThat(errors(yaml)).containsExactly(error);
    }

    @Test
    void reportsAllErrorsAtOnce() {
        assertThat(errors("""
                rules: {idle-devices: on}
                max_devices:
                  default: two
                  user: {}
                hours:
                  - {days: Mon}
                """))
                .containsExactly(
                        "line 1, column 23: rules.idle-devices: expected off, audit or enforce",
                        "line 3, column 12: max_devices.default: expected a whole number from 0, or none",
                        "line 4, column 3: max_devices.user: there is no such key; these are: default, groups, users",
                        "line 6, column 5: hours: expected from",
                        "line 6, column 5: hours: expected to");
    }

    @Test
    void refusesWhatIsTooLongOrNoText() {
        assertThat(errors(new byte[PolicyReader.LARGEST + 1]))
                .containsExactly("line 1, column 1: it is longer than 262144 bytes");
        assertThat(errors(new byte[] {(byte) 0xff})).containsExactly("line 1, column 1: it is not UTF-8");
        assertThat(errors(new byte[] {'{', '}', '\n', '#', (byte) 0xff}))
                .containsExactly("line 2, column 2: it is not UTF-8");
    }

    @ParameterizedTest
    @CsvSource({
        "/a, true",
        "/a.slice/b.service/, true",
        "/..a/.b, true",
        "/, false",
        "//, false",
        "/a//b, false",
        "/a/../b, false",
        "/a/., false",
        "a, false",
        "'', false",
        "'/a\n', false"
    })
    void cgroups(String text, boolean isValid) {
        assertThat(PolicyReader.isCgroup(text)).isEqualTo(isValid);
    }

    @Test
    void aLongPathOfACgroupIsRefusedWithoutRecursion() {
        assertThat(PolicyReader.isCgroup("/a".repeat(2000))).isTrue();
        assertThat(errors("exempt: {cgroups: [%s]}".formatted("/a".repeat(100_000))))
                .hasSize(1);
    }

    @Test
    void limitsTheNumberOfErrors() {
        assertThat(errors("x: 1\n".repeat(1000))).hasSize(100);
        assertThat(errors("x: 1\n".repeat(1000) + "exceptions: [{until: 2026-12-01}]\nhours: [{}]"))
                .hasSize(100);
    }
}
