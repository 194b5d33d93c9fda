package dev.genv.enforcer.api.security;

import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import org.jboss.logging.Logger;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;

/** Gives every error the same form. */
class ErrorMappers {
    private static final Logger LOG = Logger.getLogger(ErrorMappers.class);

    @ServerExceptionMapper
    Response apiError(ApiException e) {
        return problem(e.status(), String.valueOf(e.getMessage()));
    }

    /** The framework's own texts name its parts, and it does not send the methods of the path with status 405. */
    @ServerExceptionMapper
    Response frameworkError(WebApplicationException e, UriInfo uri) {
        var status = e.getResponse().getStatus();
        return switch (status) {
            case 404 -> problem(status, HttpErrors.NO_SUCH_PATH);
            case 405 ->
                Response.fromResponse(problem(status, HttpErrors.NO_SUCH_METHOD))
                        .header(HttpHeaders.ALLOW, methodsOf(uri))
                        .build();
            case 406 -> problem(status, "the answer has none of the types in the header Accept");
            case 415 -> problem(status, "the body must have the Content-Type application/json");
            default -> problem(status, "the request cannot be answered");
        };
    }

    private static String methodsOf(UriInfo uri) {
        var computes = uri.getPathSegments().getFirst().getPath().equals("plan"); // every other path is only read
        return computes ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
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
