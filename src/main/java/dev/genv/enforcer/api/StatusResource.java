package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.Ticker;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;
import org.jspecify.annotations.Nullable;

/** The status of the service itself. */
@Path("/status")
@Produces(MediaType.APPLICATION_JSON)
public class StatusResource {
    private final Enforcer enforcer;
    private final CycleSchedule schedule;
    private final Ticker ticker;

    StatusResource(Enforcer enforcer, CycleSchedule schedule, Ticker ticker) {
        this.enforcer = enforcer;
        this.schedule = schedule;
        this.ticker = ticker;
    }

    @GET
    @Operation(operationId = "getStatus", summary = "When the last cycle ended, and why it failed if it did")
    @APIResponse(responseCode = "200", description = "The status of the service.")
    public StatusView show() {
        return StatusView.of(enforcer, schedule, LocalDate.ofInstant(ticker.now(), ZoneId.systemDefault()));
    }

    /**
     * Whether the cycles of the service end, and without an error. Otherwise the hosts and violations are those of an earlier time.
     *
     * @param startedAt when the service was started
     * @param lastCycleAt when the last cycle ended; null before the first one
     * @param secondsSinceLastCycle the time since then, or since the start of the service, by the monotonic clock
     * @param late whether that is more than three intervals
     * @param error why the last cycle failed; null if it did not
     * @param today the date in the time zone of the service, whose days a report has
     */
    public record StatusView(
            Instant startedAt,
            @Nullable Instant lastCycleAt,
            double secondsSinceLastCycle,
            boolean late,
            @Nullable String error,
            LocalDate today) {
        public static StatusView of(Enforcer enforcer, CycleSchedule schedule, LocalDate today) {
            var since = enforcer.sinceLatest();
            var latest = enforcer.latest();
            return new StatusView(
                    enforcer.startedAt(),
                    latest.map(report -> report.startedAt().plus(report.duration()))
                            .orElse(null),
                    since.toMillis() / 1000.0,
                    schedule.isStale(since),
                    latest.map(CycleReport::error).orElse(null),
                    today);
        }
    }
}
