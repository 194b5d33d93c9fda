package dev.genv.enforcer.api.report;

import dev.genv.enforcer.api.connection.ClientSlots.Slot;
import dev.genv.enforcer.api.query.PastAccess;
import dev.genv.enforcer.api.query.QueryParameters;
import dev.genv.enforcer.api.query.QueryParameters.Period;
import dev.genv.enforcer.api.report.ReportView.Table;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.enforcement.host.Ticker;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Set;
import org.eclipse.microprofile.openapi.annotations.enums.SchemaType;
import org.eclipse.microprofile.openapi.annotations.media.Content;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;
import org.jspecify.annotations.Nullable;

/** The report of a period of the recorded past. */
@Path(ReportResource.PATH)
public class ReportResource {
    public static final String PATH = "/report";
    private static final String CSV = "text/csv";
    private static final Duration USUAL_PERIOD = Duration.ofDays(30);

    private final PastAccess past;
    private final Ticker ticker;

    ReportResource(PastAccess past, Ticker ticker) {
        this.past = past;
        this.ticker = ticker;
    }

    @GET
    @Produces({MediaType.APPLICATION_JSON, CSV})
    @APIResponse(
            responseCode = "200",
            content = {
                @Content(mediaType = MediaType.APPLICATION_JSON, schema = @Schema(implementation = ReportView.class)),
                @Content(mediaType = CSV, schema = @Schema(type = SchemaType.STRING))
            })
    public Response report(@Context RoutingContext request, @Context UriInfo uri, @Context HttpHeaders headers) {
        var query = new QueryParameters(uri.getQueryParameters(), Set.of("from", "to", "format", "table"));
        var isCsv = isCsv(query.get("format"), headers);
        var table = table(query.get("table"), isCsv);
        var to = query.end("to", ticker.now().truncatedTo(ChronoUnit.MILLIS));
        var period = new Period(query.begin("from", to.minus(USUAL_PERIOD)), to);
        var report = read(request, period);
        if (isCsv && !report.complete()) {
            throw new ApiException(
                    413, "a part of the period is lost, because the database was damaged, which CSV cannot show");
        }
        return isCsv
                ? Response.ok(new ByteArrayInputStream(table.write(report).getBytes(StandardCharsets.UTF_8)))
                        .type("text/csv; charset=utf-8; header=present")
                        .build()
                : Response.ok(report, MediaType.APPLICATION_JSON).build();
    }

    /** Those whose clients have left count for the limit too, until they are made. */
    private ReportView read(RoutingContext request, Period period) {
        try (var _ = Slot.hold(request).orElseThrow(() -> new ApiException(503, "the client has left"))) {
            return past.read(database -> new ReportQueries(database, period).read());
        }
    }

    /** A table stands for CSV, of which a file has one. */
    private static Table table(@Nullable String name, boolean isCsv) {
        if (name != null && !isCsv) {
            throw new ApiException(400, "the parameter table is only for format=csv: JSON has all tables");
        }
        return switch (name) {
            case null -> Table.USAGE;
            case "usage" -> Table.USAGE;
            case "violations" -> Table.VIOLATIONS;
            default -> throw QueryParameters.unreadable("table", name, "usage or violations");
        };
    }

    private static boolean isCsv(@Nullable String format, HttpHeaders headers) {
        if (format == null) {
            return headers.getAcceptableMediaTypes().stream()
                    .filter(type -> type.isCompatible(MediaType.APPLICATION_JSON_TYPE)
                            || type.isCompatible(MediaType.valueOf(CSV)))
                    .findFirst()
                    .filter(type -> !type.isCompatible(MediaType.APPLICATION_JSON_TYPE))
                    .isPresent();
        }
        return switch (format) {
            case "json" -> false;
            case "csv" -> true;
            default -> throw QueryParameters.unreadable("format", format, "json or csv");
        };
    }
}
