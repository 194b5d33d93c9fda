package dev.genv.enforcer.api.security;

import dev.genv.enforcer.model.Sha256;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

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
        var file = path != null && reads && PageFile.isPath(path) ? files.computeIfAbsent(path, PageFile::read) : null;
        if (file == null) {
            request.next();
        } else {
            send(request, file);
        }
    }

    private static void send(RoutingContext request, PageFile file) {
        var response = request.response();
        response.putHeader(HttpHeaders.ETAG, file.etag()).putHeader(HttpHeaders.CACHE_CONTROL, "no-cache");
        if (file.etag().equals(request.request().getHeader(HttpHeaders.IF_NONE_MATCH))) {
            response.setStatusCode(304).end();
            return;
        }
        // The length also for HEAD, to which Vert.x sends the headers only.
        response.putHeader(HttpHeaders.CONTENT_TYPE, file.contentType())
                .putHeader(
                        HttpHeaders.CONTENT_LENGTH,
                        Integer.toString(file.content().length()))
                .end(file.content().copy());
    }

    /** A file of the page, with the strong validator of HTTP, which changes with the content. */
    record PageFile(String contentType, String etag, Buffer content) {
        private static final String FOLDER = "/META-INF/resources";

        /** The paths of the page's files. No other spelling of a path is accepted, so none can lead to another file. */
        private static final Pattern PATH = Pattern.compile("/(index\\.html|page/([a-z]+/)?[a-z-]+\\.(js|css|svg))?");

        static boolean isPath(String path) {
            return PATH.matcher(path).matches();
        }

        /** Reads a file from the class path, at a path for which {@link #isPath} is true; null if there is none. */
        static @Nullable PageFile read(String path) {
            var name = path.equals("/") ? "/index.html" : path;
            try (InputStream file = PageFile.class.getResourceAsStream(FOLDER + name)) {
                if (file == null) {
                    return null;
                }
                var content = file.readAllBytes();
                var etag = "\"" + HexFormat.of().formatHex(Sha256.digest(content), 0, 16) + "\"";
                return new PageFile(contentType(name), etag, Buffer.buffer(content));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static String contentType(String name) {
            return switch (name.substring(name.lastIndexOf('.'))) {
                case ".html" -> "text/html; charset=utf-8";
                case ".css" -> "text/css; charset=utf-8";
                case ".svg" -> "image/svg+xml";
                default -> "text/javascript; charset=utf-8";
            };
        }
    }
}
