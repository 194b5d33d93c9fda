package dev.genv.enforcer.notification.webhook;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRecord.ActionNote;
import dev.genv.enforcer.notification.notice.Notice;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Writes the bodies of the requests. */
public final class WebhookBodies {
    private final WebhookFormat format;
    private final URI source;
    private final ObjectMapper mapper;
    private final View view;

    /** Returns what the API shows. */
    public interface View {
        Object violation(ViolationRecord violation);

        Object action(ActionNote action);
    }

    /**
     * Creates a writer.
     *
     * @param source identifies this service in the events
     * @param view represents violations as the API does
     */
    public WebhookBodies(WebhookFormat format, URI source, ObjectMapper mapper, View view) {
        this.format = format;
        this.source = source;
        this.mapper = mapper;
        this.view = view;
    }

    String contentType() {
        return switch (format) {
            case CLOUDEVENTS -> "application/cloudevents+json; charset=UTF-8";
            case TEXT -> "application/json; charset=UTF-8";
        };
    }

    /** Returns the id of a notice, which stays the same for each attempt and after a restart. */
    static String id(Notice notice) {
        return "%s-%d".formatted(notice.violation().id(), notice.sequence());
    }

    /** Returns the body of a request. */
    byte[] of(Notice notice) {
        var body = new LinkedHashMap<String, Object>();
        if (format == WebhookFormat.CLOUDEVENTS) {
            body.put("specversion", "1.0");
            body.put("id", id(notice));
            body.put("source", source.toString());
            body.put(
                    "type",
                    "dev.genv.enforcer.violation.%s.v1".formatted(notice.kind().label()));
            body.put("time", notice.at().toString());
            body.put("subject", notice.violation().id());
            body.put("datacontenttype", "application/json");
            body.put("data", data(notice));
        }
        body.put("text", ChatText.of(notice));
        try {
            return mapper.writeValueAsString(body).getBytes(StandardCharsets.UTF_8);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a violation has a representation", e);
        }
    }

    private Map<String, Object> data(Notice notice) {
        var data = new LinkedHashMap<String, Object>();
        data.put("violation", view.violation(notice.violation()));
        var action = notice.action();
        if (action != null) {
            data.put("action", view.action(action));
        }
        return data;
    }
}
