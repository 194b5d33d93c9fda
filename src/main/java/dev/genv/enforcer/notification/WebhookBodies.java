package dev.genv.enforcer.notification;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.genv.BoundedOutput;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Writes the bodies of the requests.
 *
 * @param source identifies this service in the events
 * @param page the address of the page, without a slash at its end; empty if nobody can open it
 * @param violation represents a violation as the API does
 * @param action represents an action as the API does
 */
public record WebhookBodies(
        WebhookFormat format,
        URI source,
        Optional<URI> page,
        ObjectMapper mapper,
        Function<ViolationRecord, ?> violation,
        Function<ActionNote, ?> action) {
    /** Many receivers accept no larger one, and users choose the length of what a violation shows. */
    static final int LARGEST = 64 << 10;

    private static final int LONGEST_TEXT = 300;
    private static final int MOST_NUMBERS = 50;

    String contentType() {
        return format == WebhookFormat.CLOUDEVENTS
                ? "application/cloudevents+json; charset=UTF-8"
                : "application/json; charset=UTF-8";
    }

    /** Returns what the notices of one request have in common: the user, the rule and the hosts, or the event itself. */
    String incident(Notice notice) {
        var violation = notice.violation().violation();
        return format == WebhookFormat.TEXT
                ? "%s %s %s".formatted(violation.rule(), violation.hosts(), violation.user())
                : notice.id();
    }

    /**
     * Returns the body of a request, which has at most 64 KiB. The data of a larger event is reduced to fields of limited length.
     *
     * @param incident notices of the same {@link #incident}
     */
    byte[] of(List<Notice> incident) {
        return switch (format) {
            case CLOUDEVENTS -> {
                var notice = incident.getFirst();
                yield write(event(notice, data(notice)))
                        .or(() -> write(event(notice, reducedData(notice))))
                        .orElseThrow();
            }
            case TEXT -> write(Map.of("text", chatText(incident))).orElseThrow();
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
                .put("id", notice.id())
                .put("source", source.toString())
                .put("type", type)
                .put("time", notice.at().toString())
                .put("subject", notice.violation().id())
                .put("datacontenttype", "application/json")
                .<ObjectNode>set("data", data)
                .put("text", chatText(List.of(notice)));
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
     * One line about an incident, for a channel in Slack or Mattermost. What users chose is in a code span without the characters that could
     * end it, name a group of people or make a link.
     */
    String chatText(List<Notice> incident) {
        var last = incident.getLast();
        var violation = last.violation().violation();
        var hosts = violation.hosts().stream().sorted().collect(Collectors.joining(", "));
        var mode = last.violation().mode().name().toLowerCase(Locale.ROOT);
        var user = violation.user() == null ? "" : ", user `%s`".formatted(plain(violation.user()));
        return "%s: %s%s, rule %s (%s): `%s`%s"
                .formatted(
                        plain(hosts),
                        events(incident),
                        user,
                        violation.rule().name(),
                        mode,
                        plain(violation.message()),
                        page.map(address -> " " + Notice.address(address, incident))
                                .orElse(""));
    }

    /** Says what happened last to each violation or process, and the same to several of them at once. */
    private static String events(List<Notice> incident) {
        var latest = new LinkedHashMap<List<Object>, Notice>();
        for (var notice : incident) {
            var id = notice.violation().id();
            var action = actionOf(notice);
            latest.remove(List.<Object>of(id));
            latest.put(action == null ? List.of(id) : List.of(id, action.target()), notice);
        }
        var same = new LinkedHashMap<String, List<Notice>>();
        latest.values()
                .forEach(notice -> same.computeIfAbsent(happening(notice), _ -> new ArrayList<>())
                        .add(notice));
        return same.entrySet().stream()
                .map(each -> each.getKey().formatted(number(each.getValue())))
                .collect(Collectors.joining("; "));
    }

    /** The action that was taken; null if none was. */
    private static @Nullable ActionNote actionOf(Notice notice) {
        return notice.kind() == NoticeKind.ACTED ? notice.action() : null;
    }

    /** Says what happened; a format for the number of the violations, or for the targets of an action. */
    private static String happening(Notice notice) {
        var action = actionOf(notice);
        if (action != null) {
            var signal = action.signal() == null ? "" : " with SIG" + action.signal();
            return "%s %%s%s, %s"
                    .formatted(action.target().type(), signal, action.outcome().label());
        }
        return switch (notice.kind()) {
            case WARNED -> "violation%s, which waits for its grace period";
            case RESOLVED -> "resolved%s";
            default -> "violation%s";
        };
    }

    private static String number(List<Notice> notices) {
        var targets = notices.stream()
                .flatMap(notice -> Stream.ofNullable(actionOf(notice)))
                .map(ActionNote::target)
                .distinct()
                .toList();
        if (targets.isEmpty()) {
            return notices.size() == 1 ? "" : " × " + notices.size();
        }
        var isOne = targets.size() == 1;
        var noun = targets.getFirst().isProcess() ? isOne ? "process" : "processes" : isOne ? "GPU" : "GPUs";
        var numbers = targets.stream()
                .limit(MOST_NUMBERS)
                .map(target -> String.valueOf(target.isProcess() ? target.pid() : target.device()))
                .collect(Collectors.joining(", "));
        var more = targets.size() - MOST_NUMBERS;
        return "%s %s%s".formatted(noun, numbers, more > 0 ? " and %d more".formatted(more) : "");
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
