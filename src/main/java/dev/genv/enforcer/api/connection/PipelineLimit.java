package dev.genv.enforcer.api.connection;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;

/** Closes a connection that sends many requests before it reads their responses: Vert.x keeps all of them in memory. */
final class PipelineLimit extends ChannelDuplexHandler {
    static final int MAX_PENDING_REQUESTS = 8;

    private int open;

    /** Adds a limit to the pipeline of a new connection, after the HTTP codec. */
    static void add(Channel channel) {
        channel.pipeline().addFirst(new CodecWaiter());
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof HttpRequest request) {
            open++;
            request.headers().remove(HttpHeaderNames.UPGRADE); // an upgrade to HTTP/2, which would have no limit
        }
        if (open > MAX_PENDING_REQUESTS) {
            ReferenceCountUtil.release(message);
            var _ = context.close();
            return;
        }
        context.fireChannelRead(message);
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        var interim =
                message instanceof HttpResponse response && response.status().equals(HttpResponseStatus.CONTINUE);
        if (message instanceof LastHttpContent && !interim) {
            open--;
        }
        var _ = context.write(message, promise);
    }

    /**
     * Waits for the codec. A port that supports HTTP/2 adds it when the first bytes are not those of HTTP/2, so these bytes are passed
     * on one by one. A connection with HTTP/2 is closed, because it would have no limit.
     */
    private static final class CodecWaiter extends ChannelInboundHandlerAdapter {
        private static final int HTTP2_PREFACE = 24;

        private int passed;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            var bytes = (ByteBuf) message;
            var pipeline = context.pipeline();
            while (pipeline.get(HttpResponseEncoder.class) == null && bytes.isReadable()) {
                passed++;
                if (passed >= HTTP2_PREFACE) {
                    bytes.release();
                    var _ = context.close();
                    return;
                }
                context.fireChannelRead(bytes.readRetainedSlice(1));
            }
            var encoder = pipeline.context(HttpResponseEncoder.class);
            if (encoder == null) {
                bytes.release();
                return;
            }
            pipeline.addAfter(encoder.name(), null, new PipelineLimit());
            context.fireChannelRead(bytes);
            pipeline.remove(this);
        }
    }
}
