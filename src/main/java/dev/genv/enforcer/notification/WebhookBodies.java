package dev.genv.enforcer.notification;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.genv.BoundedOutput;
import dev.genv.enforcer.model.SafeText;
import java.io.IOException;
import java.net.URI;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Writes the bodies of the requests.
 *
 * @param source identifies this service in the events
 * @param violation represents a violation as the API does
 * @param action represents an action as the API does
 */
public record WebhookBodies(
        WebhookFormat format,
        URI source,
        ObjectMapper mapper,
        Function<ViolationRecord, ?> violation,
        Function<ActionNote, ?> action) {
    /** Many receivers accept no larger one, and users choose the length of what a violation shows. */
    static final int LARGEST = 64 << 10;

    private static final int LONGEST_TEXT = 300;

    String contentType() {
        return format == WebhookFormat.CLOUDEVENTS
                ? "application/cloudevents+json; charset=UTF-8"
                : "application/json; charset=UTF-8";
    }

    /** Returns the id of a notice, which stays the same for each attempt and after a restart. */
    static String id(Notice notice) {
        return "%s-%d".formatted(notice.violation().id(), notice.sequence());
    }

    /** Returns the body of a request, which has at most 64 KiB. The data of a larger event is reduced to fields of limited length. */
    byte[] of(Notice notice) {
        return switch (format) {
            case CLOUDEVENTS ->
                write(event(notice, data(notice)))
                        .or(() -> write(event(notice, reducedData(notice))))
                        .orElseThrow();
            case TEXT -> write(Map.of("text", chatText(notice))).orElseThrow();
        };
    }

    /** Empty if it is too large. */
    private Optional<byte[]> write(Object body) {
        try {
            var bytes = new BoundedOutput(LARGEST);
            mapper.writeValue(bytes, body);
            return Optional.of(bytes.toByteArray());
        } catch (BoundedOutput.FullException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw new IllegalStateException("a violation has a representation", e);
        }
    }

    private ObjectNode event(Notice notice, ObjectNode data) {
        var type = "dev.genv.enforcer.violation.%s.v1".formatted(notice.kind().label());
        return mapper.createObjectNode()
                .put("specversion", "1.0")
                .put("id", id(notice))
                .put("source", source.toString())
                .put("type", type)
                .put("time", notice.at().toString())
                .put("subject", notice.violation().id())
                .put("datacontenttype", "application/json")
                .<ObjectNode>set("data", data)
                .put("text", chatText(notice));
    }

    private ObjectNode data(Notice notice) {
        var data = mapper.createObjectNode().putPOJO("violation", violation.apply(notice.violation()));
        var taken = notice.action();
        return taken == null ? data : data.putPOJO("action", action.apply(taken));
    }

    /** Users choose the length of everything else. */
    private ObjectNode reducedData(Notice notice) {
        var entry = notice.violation();
        var data = mapper.createObjectNode().put("reduced", true);
        data.putObject("violation")
                .put("id", entry.id())
                .put("rule", entry.violation().rule().name())
                .put("host", entry.violation().host())
                .put("status", entry.active() ? "active" : "resolved")
                .put("mode", entry.mode().name().toLowerCase(Locale.ROOT));
        return data;
    }

    /**
     * One line about an event, for a channel in Slack or Mattermost. What users chose is in a code span without the characters that could
     * end it, name a group of people or make a link.
     */
    static String chatText(Notice notice) {
        var violation = notice.violation().violation();
        var hosts = violation.hosts().stream().sorted().collect(Collectors.joining(", "));
        var event = switch (notice.kind()) {
            case OPENED -> "violation";
            case WARNED -> "violation, which waits for its grace period";
            case ACTED -> chatAction(Objects.requireNonNull(notice.action(), "an action was taken"));
            case RESOLVED -> "resolved";
        };
        var mode = notice.violation().mode().name().toLowerCase(Locale.ROOT);
        return "%s: %s, rule %s (%s): `%s`"
                .formatted(plain(hosts), event, violation.rule().name(), mode, plain(violation.message()));
    }

    private static String chatAction(ActionNote action) {
        var outcome = action.outcome().label();
        return switch (action.target()) {
            case ActionNote.TargetProcess(var _, var pid) -> {
                var signal = action.sent().map(sent -> " with SIG" + sent).orElse("");
                yield "terminate process %d%s, %s".formatted(pid, signal, outcome);
            }
            case ActionNote.TargetAttachment(var _, var _, var device) ->
                "detach GPU %d, %s".formatted(device, outcome);
        };
    }

    private static String plain(String text) {
        return SafeText.escape(text, LONGEST_TEXT)
                .replace('`', '\'')
                .replace('<', '\u2039')
                .replace('>', '\u203a')
                .replace('&', '+');
    }

    /** The form of the body of a request. */
    public enum WebhookFormat {
        /** A CloudEvents 1.0 event in the structured mode, with the text as the extension attribute {@code text}. */
        CLOUDEVENTS,
        /**
         * An object with {@code text} and nothing else, for Slack and Mattermost. Mattermost refuses a CloudEvents event, because it takes its
         * {@code type} for that of the post.
         */
        TEXT
    }
}
