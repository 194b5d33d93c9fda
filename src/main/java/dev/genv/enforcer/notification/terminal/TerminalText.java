package dev.genv.enforcer.notification.terminal;

import dev.genv.enforcer.notification.Outbox.Batch;
import dev.genv.enforcer.notification.notice.NoticeText;
import dev.genv.enforcer.notification.notice.PersonalNotice;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/**
 * The text of a message on a terminal.
 *
 * @param host the name of this node
 */
record TerminalText(NoticeText notices, String host) {
    /** A terminal may be in raw mode, and then needs a carriage return. */
    private static final String LINE = "\r\n";

    private static final int MOST_SHOWN = 3;

    byte[] of(Batch<Long> batch) {
        var shown = batch.notices().stream()
                .limit(MOST_SHOWN)
                .map(this::line)
                .collect(Collectors.joining(LINE, LINE, LINE));
        var rest = batch.notices().size() - MOST_SHOWN + batch.omitted();
        var text = batch.notices().size() <= MOST_SHOWN && batch.omitted() == 0
                ? shown
                : shown + "genv-enforcer: and %d more messages about your processes".formatted(rest) + LINE;
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private String line(PersonalNotice personal) {
        return "genv-enforcer on %s, %s: %s"
                .formatted(host, NoticeText.time(personal.notice().at()), notices.paragraph(personal));
    }
}
