package dev.genv.enforcer.genv;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Parses one of genv's files. Equal bytes are parsed once, because most observations find the file of the previous one.
 *
 * @param <T> the content, which is immutable
 */
public final class FileParser<T> {
    /** In bytes; the parsed content of larger files is not kept. */
    static final int LARGEST_KEPT = 16 << 10;

    private final Form<T> form;
    private volatile @Nullable Parsed<T> last;

    public FileParser(Form<T> form) {
        this.form = form;
    }

    public interface Form<T> {
        T parse(JsonNode root) throws UnreadableException;
    }

    private record Parsed<T>(ByteBuffer bytes, T content) {}

    /** Returns the content of a file, whose bytes must not be changed afterwards. */
    public T parse(byte[] bytes) throws UnreadableException {
        var before = last;
        if (before != null && before.bytes.equals(ByteBuffer.wrap(bytes))) {
            return before.content;
        }
        last = null; // its memory is free while the new file is parsed
        var content = form.parse(GenvJson.read(bytes));
        last = bytes.length <= LARGEST_KEPT ? new Parsed<>(ByteBuffer.wrap(bytes), content) : null;
        return content;
    }
}
