package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.RuleSettings;
import dev.genv.enforcer.config.settings.SettingKind;
import dev.genv.enforcer.config.settings.Variables;
import dev.genv.enforcer.config.settings.Variables.InvalidSettingsException;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policyfile.PolicyFile;
import dev.genv.enforcer.policyfile.PolicyReader.InvalidPolicyException;
import dev.genv.enforcer.policyfile.PolicyReader.PolicyError;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The answer to {@code genv-enforcer policy check FILE}.
 *
 * @param exitCode 0 for a valid file, 1 for an invalid one
 * @param text the errors with their lines and columns, or what the file changes for whom, compared with the variables
 */
record PolicyCheck(int exitCode, String text) {
    static PolicyCheck of(Path file, Variables variables, Instant now, ZoneId zone) {
        PolicyDocument document;
        try {
            document = new PolicyFile(file.toAbsolutePath(), zone).current();
        } catch (InvalidPolicyException e) {
            return new PolicyCheck(
                    1,
                    e.errors().stream().map(PolicyError::toString).collect(Collectors.joining(System.lineSeparator())));
        } catch (IOException e) {
            return new PolicyCheck(1, "%s: %s".formatted(file, Errno.textOf(e)));
        }
        var base = RuleSettings.values(
                RuleSettings.read(variables),
                SettingKind.entries(variables.value(RuleSettings.EXEMPT_USERS)),
                SettingKind.entries(variables.value(RuleSettings.EXEMPT_CGROUPS)));
        try {
            variables.throwIfAnyIsInvalid();
        } catch (InvalidSettingsException e) {
            return new PolicyCheck(
                    1,
                    "The file is valid, but not the variables with which it is compared: "
                            + String.join("; ", e.lines()));
        }
        var next = document.next(now, base).stream()
                .flatMap(change -> Stream.concat(
                        Stream.of("Next change at %s:"
                                .formatted(change.at().atZone(zone).toOffsetDateTime())),
                        indented(change.changes())));
        var changes = base.changes(document.at(now, base));
        var present = Stream.concat(
                Stream.of(
                        changes.isEmpty()
                                ? "The file is valid, and changes nothing now."
                                : "The file is valid. It changes now:"),
                indented(changes));
        return new PolicyCheck(0, Stream.concat(present, next).collect(Collectors.joining(System.lineSeparator())));
    }

    private static Stream<String> indented(List<String> lines) {
        return lines.stream().map(line -> "  " + line);
    }
}
