package dev.genv.enforcer.policyfile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policy.PolicyDocument.NextChange;
import dev.genv.enforcer.policy.PolicyValues;
import java.time.Instant;
import java.time.LocalDateTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When hours and exceptions apply. Times without a zone are those of Berlin: CET is an hour ahead of UTC, CEST two hours. */
class PolicyTimesTest {
    private static Instant at(String time) {
        return time.endsWith("Z")
                ? Instant.parse(time)
                : LocalDateTime.parse(time).atZone(PolicyReaderTest.ZONE).toInstant();
    }

    private static boolean holds(PolicyDocument document, Instant at) {
        return !document.at(at, PolicyValues.NONE).equals(PolicyValues.NONE);
    }

    private static PolicyDocument hours(String days, String from, String to) throws Exception {
        return PolicyReaderTest.read("hours: [{days: \"%s\", from: \"%s\", to: \"%s\", max_devices: {default: 1}}]"
                .formatted(days, from, to));
    }

    private static PolicyDocument exception(String times) throws Exception {
        return PolicyReaderTest.read("exceptions: [{user: bob, max_devices: 8, %s}]".formatted(times));
    }

    /** 2026-11-27 is a Friday. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            Mon-Fri | 20:00 | 08:00 | 2026-11-27T19:59:59 | false
            Mon-Fri | 20:00 | 08:00 | 2026-11-27T20:00:00 | true
            Mon-Fri | 20:00 | 08:00 | 2026-11-28T07:59:59 | true
            Mon-Fri | 20:00 | 08:00 | 2026-11-28T08:00:00 | false
            Mon-Fri | 20:00 | 08:00 | 2026-11-28T20:00:00 | false
            Mon-Fri | 20:00 | 08:00 | 2026-11-30T07:00:00 | false
            Mon-Fri | 08:00 | 20:00 | 2026-11-27T08:00:00 | true
            Mon-Fri | 08:00 | 20:00 | 2026-11-27T20:00:00 | false
            Sat,Sun | 00:00 | 00:00 | 2026-11-28T00:00:00 | true
            Sat,Sun | 00:00 | 00:00 | 2026-11-29T23:59:59 | true
            Sat,Sun | 00:00 | 00:00 | 2026-11-30T00:00:00 | false
            Fri-Mon | 12:00 | 13:00 | 2026-11-29T12:30:00 | true
            Fri-Mon | 12:00 | 13:00 | 2026-12-01T12:30:00 | false
            # 2026-03-29 is the Sunday on which 02:00 CET becomes 03:00 CEST: 02:30 does not exist, and is 03:30
            Sun     | 02:30 | 04:00 | 2026-03-29T01:29:59Z | false
            Sun     | 02:30 | 04:00 | 2026-03-29T01:30:00Z | true
            Sun     | 02:30 | 04:00 | 2026-03-29T02:00:00Z | false
            Sun     | 01:00 | 02:30 | 2026-03-29T01:29:59Z | true
            Sun     | 01:00 | 02:30 | 2026-03-29T01:30:00Z | false
            # 2026-10-25 is the Sunday on which 03:00 CEST becomes 02:00 CET: 02:30 exists twice, and is the first one
            Sun     | 02:30 | 04:00 | 2026-10-25T00:29:59Z | false
            Sun     | 02:30 | 04:00 | 2026-10-25T00:30:00Z | true
            Sun     | 02:30 | 04:00 | 2026-10-25T01:15:00Z | true
            Sun     | 02:30 | 04:00 | 2026-10-25T03:00:00Z | false
            Sun     | 01:00 | 02:30 | 2026-10-25T00:29:59Z | true
            Sun     | 01:00 | 02:30 | 2026-10-25T01:15:00Z | false
            # a night in which the clock is set has 11 or 13 hours
            Sat     | 20:00 | 08:00 | 2026-10-25T06:59:59Z | true
            Sat     | 20:00 | 08:00 | 2026-10-25T07:00:00Z | false
            Sat     | 20:00 | 08:00 | 2026-03-29T05:59:59Z | true
            Sat     | 20:00 | 08:00 | 2026-03-29T06:00:00Z | false
            """)
    void hoursAreThoseOfTheZone(String days, String from, String to, String time, boolean holds) throws Exception {
        assertThat(holds(hours(days, from, to), at(time))).isEqualTo(holds);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            until: 2026-12-01                                      | 2026-12-01T23:59:59 | true
            until: 2026-12-01                                      | 2026-12-02T00:00:00 | false
            until: 2026-12-01                                      | 1970-01-01T00:00:00 | true
            until: 2026-12-01T18:00                                | 2026-12-01T17:59:59 | true
            until: 2026-12-01T18:00                                | 2026-12-01T18:00:00 | false
            until: "2026-12-01T18:00:00Z"                          | 2026-12-01T18:59:59 | true
            until: 2026-12-01T18:00:00+01:00                       | 2026-12-01T18:00:00 | false
            from: 2026-11-30, until: 2026-12-01                    | 2026-11-29T23:59:59 | false
            from: 2026-11-30, until: 2026-12-01                    | 2026-11-30T00:00:00 | true
            # the day on which summer time ends has 25 hours
            until: 2026-10-25                                      | 2026-10-25T22:59:59Z | true
            until: 2026-10-25                                      | 2026-10-25T23:00:00Z | false
            """)
    void anExceptionEndsWithTheLastSecondOfItsDate(String times, String time, boolean holds) throws Exception {
        assertThat(holds(exception(times), at(time))).isEqualTo(holds);
    }

    @Test
    void laterHoursTakeThePlaceOfEarlierOnes() throws Exception {
        var document = PolicyReaderTest.read("""
                max_devices: {default: 2, users: {john: 3}}
                hours:
                  - {days: Mon-Sun, from: "00:00", to: "00:00", max_devices: {default: 4, users: {john: 5}}}
                  - {days: Mon-Sun, from: "12:00", to: "13:00", max_devices: {default: none}, rules: {idle-devices: off}}
                """);
        assertThat(PolicyReaderTest.texts(document.at(at("2026-11-27T12:00:00"), PolicyValues.NONE)))
                .containsExactly(
                        "rules.idle-devices: off (hours in line 4 of the policy file)",
                        "max_devices.default: none (hours in line 4 of the policy file)",
                        "max_devices.users.john: 5 (hours in line 3 of the policy file)");
    }

    @Test
    void tellsWhatChangesNext() throws Exception {
        var document = PolicyReaderTest.read(PolicyReaderTest.EXAMPLE);
        assertThat(document.next(at("2026-11-27T12:00:00"), PolicyValues.NONE))
                .contains(new NextChange(
                        at("2026-11-27T20:00:00"),
                        java.util.List.of(
                                "max_devices.default: 2 -> 4 (hours in line 8 of the policy file)",
                                "max_devices.groups.undergrad: 1 -> 2 (hours in line 8 of the policy file)")));
        assertThat(document.next(at("2026-11-28T09:00:00"), PolicyValues.NONE))
                .contains(new NextChange(
                        at("2026-11-30T00:00:00"),
                        java.util.List.of("exceptions.group course-ml.max_devices: unset -> 1 (exception in line 6)")));
        assertThat(exception("until: 2026-12-01").next(at("2026-12-02T00:00:00"), PolicyValues.NONE))
                .isEmpty();
    }

    @Test
    void theNextChangeIsOneThatChangesSomething() throws Exception {
        var document = PolicyReaderTest.read("""
                max_devices: {default: 2}
                exceptions: [{user: bob, max_devices: 8, until: 2026-12-03}]
                hours: [{days: Mon-Sun, from: "20:00", to: "08:00", max_devices: {default: 2}}]
                """);
        assertThat(document.next(at("2026-12-01T12:00:00"), PolicyValues.NONE))
                .contains(new NextChange(
                        at("2026-12-04T00:00:00"), java.util.List.of("exceptions.user bob.max_devices: 8 -> unset")));
    }
}
