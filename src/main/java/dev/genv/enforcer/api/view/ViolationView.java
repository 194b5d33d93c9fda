package dev.genv.enforcer.api.view;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord.NextAction;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** A violation as the API shows it. META-INF/openapi.yaml describes the fields of this and of the other answers. */
public record ViolationView(
        String id,
        String rule,
        @Nullable String host,
        String status,
        String mode,
        String message,
        @Nullable String user,
        @Nullable String environment,
        List<Integer> devices,
        List<ProcessView> processes,
        Instant firstSeen,
        Instant lastSeen,
        int cycles,
        List<ActionView> actions,
        List<NextView> next) {
    public static final String ACTIVE = "active";
    public static final String RESOLVED = "resolved";

    /** An action on the violation; only the fields of its type are present. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record ActionView(
            String type,
            String host,
            @Nullable Integer pid,
            @Nullable String signal,
            @Nullable String environment,
            @Nullable Integer device,
            Instant at,
            String outcome,
            @JsonInclude @Nullable String detail) {
        public static ActionView of(ViolationRecord.ActionNote note) {
            return new ActionView(
                    note.target().type(),
                    note.target().host(),
                    note.target().pid(),
                    note.signal(),
                    note.target().environment(),
                    note.target().device(),
                    note.at(),
                    note.outcome().label(),
                    note.detail());
        }
    }

    /** An action that follows if nothing changes; only the fields of its type are present. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record NextView(
            String type,
            String host,
            @Nullable Integer pid,
            @Nullable String signal,
            @Nullable String environment,
            @Nullable Integer device,
            Instant notBefore,
            String because) {
        static NextView of(NextAction action) {
            var target = action.target();
            return new NextView(
                    target.type(),
                    target.host(),
                    target.pid(),
                    action.signal(),
                    target.environment(),
                    target.device(),
                    action.notBefore(),
                    action.because().label());
        }
    }

    public static ViolationView of(ViolationRecord entry) {
        var violation = entry.violation();
        return new ViolationView(
                entry.id(),
                violation.rule().name(),
                violation.host(),
                entry.active() ? ACTIVE : RESOLVED,
                entry.mode().name().toLowerCase(Locale.ROOT),
                violation.message(),
                violation.user() == null ? violation.countedUser() : violation.user(),
                violation.environment(),
                violation.devices(),
                violation.processes().stream().map(ProcessView::of).toList(),
                entry.firstSeen(),
                entry.lastSeen(),
                entry.cycles(),
                entry.actions().stream().map(ActionView::of).toList(),
                entry.next().stream().map(NextView::of).toList());
    }
}
