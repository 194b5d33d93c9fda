package dev.genv.enforcer.api.connection;

import dev.genv.enforcer.api.error.HttpErrors;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.util.ReferenceCountUtil;
import java.net.URI;
import java.net.URISyntaxException;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests that are not HTTP or whose target is no URI in the form of all errors, and closes the connection. Vert.x and Quarkus
 * would give no reason.
 */
final class InvalidRequests extends ChannelInboundHandlerAdapter {
    private boolean isRefused;

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (isRefused) {
            ReferenceCountUtil.release(message);
        } else if (message instanceof HttpRequest request && !isValid(request)) {
            isRefused = true;
            ReferenceCountUtil.release(message);
            refuse(context, request);
        } else {
            context.fireChannelRead(message);
        }
    }

    private static boolean isValid(HttpRequest request) {
        if (request.decoderResult().isFailure()) {
            return false;
        }
        try {
            var _ = new URI(request.uri());
            return true;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    private static void refuse(ChannelHandlerContext context, HttpRequest request) {
        var cause = request.decoderResult().cause();
        var status = statusOf(cause);
        var body = HttpErrors.body(status.code(), reason(cause));
        var response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1,
                status,
                request.method().equals(HttpMethod.HEAD) ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(body));
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, HttpErrors.MEDIA_TYPE)
                .set(HttpHeaderNames.CONTENT_LENGTH, body.length)
                .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        context.writeAndFlush(response).addListener(ChannelFutureListener.CLOSE);
    }

    private static HttpResponseStatus statusOf(@Nullable Throwable cause) {
        return switch (cause) {
            case TooLongHttpLineException _ -> HttpResponseStatus.REQUEST_URI_TOO_LONG;
            case TooLongHttpHeaderException _ -> HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE;
            case null, default -> HttpResponseStatus.BAD_REQUEST;
        };
    }

    private static String reason(@Nullable Throwable cause) {
        return switch (cause) {
            case TooLongHttpLineException _ -> "the first line of the request is too long";
            case TooLongHttpHeaderException _ -> "the headers of the request are too long";
            case null -> "the request target is no URI; perhaps a character in it must be percent-encoded";
            default -> "this is no HTTP request";
        };
    }
}
