package dev.genv.enforcer.telemetry;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.config.MeterFilter;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Replaces label values that a client chooses, because each would become a series. A path that was refused before the routing is a
 * label with the client's text.
 */
@Singleton
public final class RequestLabels implements MeterFilter {
    private static final Map<String, Pattern> KNOWN = Map.of(
            "method",
            Pattern.compile("GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH"),
            "uri",
            Pattern.compile(
                    "/(hosts|plan|policy|status|report|events|snapshot|users(/\\{name})?|violations(/stream|/\\{id})?)"
                            + "|NOT_FOUND|REDIRECTION|UNKNOWN|root"));

    @Override
    public Meter.Id map(Meter.Id id) {
        if (!id.getName().startsWith("http.server.")) {
            return id;
        }
        return id.replaceTags(id.getTags().stream().map(RequestLabels::known).toList());
    }

    private static Tag known(Tag tag) {
        var values = KNOWN.get(tag.getKey());
        return values == null || values.matcher(tag.getValue()).matches() ? tag : Tag.of(tag.getKey(), "OTHER");
    }
}
