package dev.genv.enforcer.notification.webhook;

import dev.genv.enforcer.enforcement.violation.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.notice.Notice;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One line about an event, for a channel in Slack or Mattermost. What users chose is in a code span without the characters that could
 * end it, name a group of people or make a link.
 */
final class ChatText {
    private static final int LONGEST = 300;

    private ChatText() {}

    static String of(Notice notice) {
        var violation = notice.violation().violation();
        var hosts = plain(violation.hosts().stream().sorted().collect(Collectors.joining(", ")));
        return "%s: %s, rule %s (%s): `%s`"
                .formatted(
                        hosts,
                        event(notice),
                        violation.rule().name(),
                        notice.violation().mode().name().toLowerCase(Locale.ROOT),
                        plain(violation.message()));
    }

    private static String event(Notice notice) {
        return switch (notice.kind()) {
            case OPENED -> "violation";
            case WARNED -> "violation, which waits for its grace period";
            case ACTED -> action(notice.action());
            case RESOLVED -> "resolved";
        };
    }

    private static String action(@Nullable ActionNote action) {
        if (action == null) {
            return "action";
        }
        var outcome = action.outcome().label();
        return switch (action.target()) {
            case ActionNote.TargetProcess(var _, var pid) ->
                "terminate process %d%s, %s"
                        .formatted(
                                pid,
                                action.sent()
                                        .map(signal -> " with SIG" + signal)
                                        .orElse(""),
                                outcome);
            case ActionNote.TargetAttachment(var _, var _, var device) ->
                "detach GPU %d, %s".formatted(device, outcome);
        };
    }

    private static String plain(String text) {
        return SafeText.escape(text, LONGEST)
                .replace('`', '\'')
                .replace('<', '\u2039')
                .replace('>', '\u203a')
                .replace('&', '+');
    }
}
