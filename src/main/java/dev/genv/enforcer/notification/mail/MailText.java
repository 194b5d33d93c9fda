package dev.genv.enforcer.notification.mail;

import dev.genv.enforcer.notification.Outbox.Batch;
import dev.genv.enforcer.notification.notice.NoticeText;
import dev.genv.enforcer.notification.notice.PersonalNotice;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * The text of a mail.
 *
 * @param perHour how many mails a user gets in an hour at most
 */
record MailText(NoticeText notices, int perHour) {
    private static final String END = "\n";

    OutgoingMail of(Batch<String> batch) {
        var paragraphs = batch.notices().stream().map(this::paragraph).collect(Collectors.joining(END + END));
        var more = batch.omitted() == 0 ? "" : "%n%nThere are %d more.".formatted(batch.omitted());
        var text = """
                %s%s

                --
                This mail is from genv-enforcer, which enforces the GPU allocations that genv records.
                You get it because these processes or environments have your user id. You get at most %d such mails in an hour.
                """.formatted(paragraphs, more, perHour);
        return new OutgoingMail(
                batch.person(),
                subject(batch.notices()),
                text,
                UUID.randomUUID().toString(),
                batch.notices().getFirst().notice().at());
    }

    /** The subject has no text that users chose. */
    private static String subject(List<PersonalNotice> notices) {
        if (notices.size() > 1) {
            return "genv-enforcer: %d messages about your GPU processes".formatted(notices.size());
        }
        return "genv-enforcer: " + NoticeText.title(notices.getFirst());
    }

    private String paragraph(PersonalNotice personal) {
        return "%s%n%s".formatted(NoticeText.time(personal.notice().at()), notices.paragraph(personal));
    }
}
