package dev.genv.enforcer.api.error;

import jakarta.ws.rs.NotFoundException;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Response;
import java.util.Objects;
import org.jboss.logging.Logger;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;

/** Gives every error the same form. */
class ErrorMappers {
    private static final Logger LOG = Logger.getLogger(ErrorMappers.class);

    @ServerExceptionMapper
    Response apiError(ApiException e) {
        return problem(e.status(), String.valueOf(e.getMessage()));
    }

    @ServerExceptionMapper
    Response frameworkError(WebApplicationException e) {
        // A parameter that cannot be converted arrives as "not found" with a cause.
        var badParameter = e instanceof NotFoundException && e.getCause() != null;
        var status = badParameter ? 400 : e.getResponse().getStatus();
        return problem(status, Objects.requireNonNullElse(e.getMessage(), "no details are known"));
    }

    @ServerExceptionMapper
    Response unexpectedError(Throwable e) {
        LOG.error("A request failed", e);
        return problem(500, "the request failed; the log shows the reason");
    }

    static Response problem(int status, String detail) {
        return Response.status(status)
                .type(ProblemDetail.MEDIA_TYPE)
                .entity(new ProblemDetail(status, detail).json())
                .build();
    }
}
