package dev.genv.enforcer.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.config.CommandLine.UsageException;
import dev.genv.enforcer.config.settings.Variables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PolicyCheckTest {
    @TempDir
    Path folder;

    private PolicyCheck check(String yaml) throws IOException {
        var file = Files.writeString(folder.resolve("policy.yaml"), yaml);
        return PolicyCheck.of(
                file,
                new Variables(Map.of("GENV_ENFORCER_MAX_DEVICES_PER_USER", "2", "GENV_ENFORCER_EXEMPT_USERS", "root")),
                Instant.parse("2026-11-27T12:00:00Z"),
                ZoneId.of("Europe/Berlin"));
    }

    @Test
    void printsWhatTheFileChangesForWhom() throws Exception {
        var check = check("""
                max_devices: {default: 1, users: {john: 3}}
                hours: [{days: Fri, from: "20:00", to: "08:00", max_devices: {default: 4}}]
                exempt: {users: [root]}
                """);
        assertThat(check.exitCode()).isZero();
        assertThat(check.text()).isEqualTo("""
                The file is valid. It changes now:
                  max_devices.default: 2 -> 1 (line 1 of the policy file)
                  max_devices.users.john: unset -> 3 (line 1 of the policy file)
                Next change at 2026-11-27T20:00+01:00:
                  max_devices.default: 1 -> 4 (hours in line 2 of the policy file)""");
    }

    @Test
    void aFileMayChangeNothing() throws Exception {
        assertThat(check("max_devices: {default: 2}").text()).isEqualTo("The file is valid, and changes nothing now.");
    }

    @Test
    void printsEachErrorOnALine() throws Exception {
        assertThat(check("a: 1\nb: 2\n")).isEqualTo(new PolicyCheck(1, """
                        line 1, column 1: a: there is no such key; these are: rules, max_devices, max_memory, exceptions, hours, exempt
                        line 2, column 1: b: there is no such key; these are: rules, max_devices, max_memory, exceptions, hours, exempt"""));
    }

    @Test
    void comparesWithNoVariablesThatTheServiceRefuses() throws Exception {
        var file = Files.writeString(folder.resolve("policy.yaml"), "{}");
        var variables = new Variables(Map.of("GENV_ENFORCER_MAX_DEVICES_PER_USER", "many"));
        assertThat(PolicyCheck.of(file, variables, Instant.EPOCH, ZoneOffset.UTC))
                .isEqualTo(
                        new PolicyCheck(
                                1,
                                "The file is valid, but not the variables with which it is compared: GENV_ENFORCER_MAX_DEVICES_PER_USER=many: expected a whole number from 0"));
    }

    @Test
    void checksTheOwnerAndTheModeAsTheServiceDoes() throws Exception {
        check("{}");
        var file = folder.resolve("policy.yaml");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        assertThat(check("{}")).isEqualTo(new PolicyCheck(1, file + ": others can write " + file));
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aNamedPipeIsRefused() throws Exception {
        var pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", "-m", "600", pipe.toString())
                        .start()
                        .waitFor())
                .isZero();
        var check = PolicyCheck.of(pipe, new Variables(Map.of()), Instant.EPOCH, ZoneOffset.UTC);
        assertThat(check.exitCode()).isEqualTo(1);
        assertThat(check.text()).contains("regular file");
    }

    @Test
    void theCommandLineAnswers() {
        var answer = catchThrowableOfType(
                UsageException.class,
                () -> CommandLine.parse(
                        List.of("policy", "check", folder.resolve("none").toString()), Map.of(), folder));
        assertThat(answer.exitCode()).isEqualTo(1);
        assertThat(answer).hasMessage(folder.resolve("none") + ": No such file or directory");
    }

    @ParameterizedTest
    @ValueSource(strings = {"policy", "policy check", "policy show x", "policy check a b"})
    void otherArgumentsAreRefused(String arguments) {
        var answer = catchThrowableOfType(
                UsageException.class, () -> CommandLine.parse(List.of(arguments.split(" ")), Map.of(), folder));
        assertThat(answer.exitCode()).isEqualTo(2);
    }
}
