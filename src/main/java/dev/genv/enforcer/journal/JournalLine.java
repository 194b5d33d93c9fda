package dev.genv.enforcer.journal;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * A line of the journal: {@code {"c":"<checksum>","r":{"type":"<type>",…}}}. The checksum is the CRC-32C of the record {@code r} in
 * hexadecimal digits.
 */
public final class JournalLine {
    private static final byte[] CHECKSUM = ascii("{\"c\":\"");
    private static final byte[] RECORD = ascii("\",\"r\":");
    private static final byte[] TYPE = ascii("{\"type\":\"");
    private static final byte[] END = ascii("}\n");
    private static final int DIGITS = 8;
    private static final int RECORD_AT = CHECKSUM.length + DIGITS + RECORD.length;
    private static final int LONGEST_TYPE = 64;

    private final String type;
    private final byte[] json;

    private JournalLine(String type, byte[] json) {
        this.type = type;
        this.json = json;
    }

    /** The type of the record. */
    public String type() {
        return type;
    }

    /** The whole record, which the caller does not change. */
    public byte[] json() {
        return json;
    }

    /** Returns a line with its line feed, for a record with these fields besides its type. */
    public static byte[] encode(String type, byte[] fields) {
        var begin = ascii("{\"type\":\"" + type + (fields.length > 2 ? "\"," : "\""));
        var record = Arrays.copyOf(begin, begin.length + fields.length - 1);
        System.arraycopy(fields, 1, record, begin.length, fields.length - 1);
        return ByteBuffer.allocate(RECORD_AT + record.length + END.length)
                .put(CHECKSUM)
                .put(ascii(digits(record, 0, record.length)))
                .put(RECORD)
                .put(record)
                .put(END)
                .array();
    }

    /**
     * Reads a line without its line feed.
     *
     * @return empty if it is damaged
     */
    static Optional<JournalLine> decode(byte[] bytes, int from, int to) {
        var end = to - 1;
        if (end - from < RECORD_AT + TYPE.length
                || bytes[end] != '}'
                || !hasAt(bytes, from, CHECKSUM)
                || !hasAt(bytes, from + CHECKSUM.length + DIGITS, RECORD)
                || !hasAt(bytes, from + RECORD_AT, TYPE)
                || !hasAt(bytes, from + CHECKSUM.length, ascii(digits(bytes, from + RECORD_AT, end)))) {
            return Optional.empty();
        }
        var typeAt = from + RECORD_AT + TYPE.length;
        for (var i = typeAt; i < end && i < typeAt + LONGEST_TYPE; i++) {
            if (bytes[i] == '"') {
                return Optional.of(new JournalLine(
                        new String(bytes, typeAt, i - typeAt, StandardCharsets.US_ASCII),
                        Arrays.copyOfRange(bytes, from + RECORD_AT, end)));
            }
        }
        return Optional.empty();
    }

    private static boolean hasAt(byte[] bytes, int at, byte[] expected) {
        return Arrays.equals(bytes, at, at + expected.length, expected, 0, expected.length);
    }

    private static String digits(byte[] bytes, int from, int to) {
        var checksum = new CRC32C();
        checksum.update(bytes, from, to - from);
        return HexFormat.of().toHexDigits((int) checksum.getValue());
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
