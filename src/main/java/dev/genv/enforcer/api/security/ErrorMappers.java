package dev.genv.enforcer.api.security;

import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Response;
import org.jboss.logging.Logger;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;

/** Gives every error the same form. */
class ErrorMappers {
    private static final Logger LOG = Logger.getLogger(ErrorMappers.class);

    @ServerExceptionMapper
    Response apiError(ApiException e) {
        return problem(e.status(), String.valueOf(e.getMessage()));
    }

    /** The framework's own texts name its parts. */
    @ServerExceptionMapper
    Response frameworkError(WebApplicationException e) {
        var status = e.getResponse().getStatus();
        return problem(
                status,
                switch (status) {
                    case 404 -> HttpErrors.NO_SUCH_PATH;
                    case 405 -> HttpErrors.NO_SUCH_METHOD;
                    case 406 -> "the answer has none of the types in the header Accept";
                    case 415 -> "the body must have the Content-Type application/json";
                    default -> "the request cannot be answered";
                });
    }

    @ServerExceptionMapper
    Response unexpectedError(Throwable e) {
        LOG.error("A request failed", e);
        return problem(500, "the request failed; the log shows the reason");
    }

    static Response problem(int status, String detail) {
        return Response.status(status)
                .type(HttpErrors.MEDIA_TYPE)
                .header(HttpErrors.RETRY_AFTER, status == HttpErrors.UNAVAILABLE ? HttpErrors.SOON : null)
                .entity(HttpErrors.body(status, detail))
                .build();
    }
}
