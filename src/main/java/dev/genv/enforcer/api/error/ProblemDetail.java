package dev.genv.enforcer.api.error;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.format.json.GenvJson;
import dev.genv.enforcer.model.SafeText;
import io.netty.handler.codec.http.HttpResponseStatus;

/**
 * An error in the form of RFC 9457.
 *
 * @param status of the HTTP response; its standard phrase is the title
 * @param detail what was wrong with this request
 */
record ProblemDetail(int status, String detail) {
    static final String MEDIA_TYPE = "application/problem+json";
    private static final int LONGEST_DETAIL = 1000;

    /** The body of the response, in ASCII. */
    byte[] json() {
        return GenvJson.write(JsonNodeFactory.instance
                .objectNode()
                .put("title", HttpResponseStatus.valueOf(status).reasonPhrase())
                .put("status", status)
                .put("detail", SafeText.escape(detail, LONGEST_DETAIL)));
    }
}
