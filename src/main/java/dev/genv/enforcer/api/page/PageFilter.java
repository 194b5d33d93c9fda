package dev.genv.enforcer.api.page;

import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Sends the files of the page. They hold no data, so they need no token: without them a browser could not ask for it. They are
 * validated at every load, so that a browser never mixes the files of two versions of the service.
 */
@Singleton
public class PageFilter {
    /** After the check of the host name and before the check of the token. */
    private static final int BEFORE_THE_TOKEN = 1500;

    /** Bounded by the number of files: a path without a file is not kept. */
    private final Map<String, PageFile> files = new ConcurrentHashMap<>();

    void register(@Observes Filters filters) {
        filters.register(this::send, BEFORE_THE_TOKEN);
    }

    private void send(RoutingContext request) {
        var path = request.request().path();
        var method = request.request().method();
        var reads = method.equals(HttpMethod.GET) || method.equals(HttpMethod.HEAD);
        var file = path != null && reads && PageFile.isPath(path) ? find(path) : Optional.<PageFile>empty();
        if (file.isPresent()) {
            send(request, file.get(), method.equals(HttpMethod.GET));
        } else {
            request.next();
        }
    }

    private Optional<PageFile> find(String path) {
        try {
            var known = files.get(path);
            var file = known == null ? PageFile.read(path) : Optional.of(known);
            file.ifPresent(found -> files.putIfAbsent(path, found));
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void send(RoutingContext request, PageFile file, boolean withContent) {
        var response = request.response();
        response.putHeader(HttpHeaders.ETAG, file.etag()).putHeader(HttpHeaders.CACHE_CONTROL, "no-cache");
        if (file.etag().equals(request.request().getHeader(HttpHeaders.IF_NONE_MATCH))) {
            response.setStatusCode(304).end();
            return;
        }
        response.putHeader(HttpHeaders.CONTENT_TYPE, file.contentType());
        if (withContent) {
            response.end(file.content().copy());
        } else {
            response.putHeader(
                    HttpHeaders.CONTENT_LENGTH, Integer.toString(file.content().length()));
            response.end();
        }
    }
}
