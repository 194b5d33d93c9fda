package dev.genv.enforcer.recording;

import java.io.ByteArrayOutputStream;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Compresses a picture with the help of an earlier one. Deflate looks back at most 32 KiB, so a large picture is compressed in blocks, each
 * with the part of the earlier one that surrounds its position.
 */
final class PictureCodec {
    /** The largest picture in bytes. A host with 3,000 processes takes less. */
    static final int LARGEST = 1 << 20;
    /** The earlier picture of a picture that needs none. */
    static final byte[] NONE = {};

    private static final int BLOCK = 16 << 10;
    private static final int BEFORE = 8 << 10;
    private static final int AFTER = 24 << 10;

    private PictureCodec() {}

    static byte[] deflate(byte[] picture, byte[] earlier) {
        var out = new ByteArrayOutputStream();
        var buffer = new byte[BLOCK];
        var deflater = new Deflater(Deflater.BEST_COMPRESSION, true);
        try {
            for (var begin = 0; begin < picture.length; begin += BLOCK) {
                deflater.reset();
                var from = from(begin, earlier);
                deflater.setDictionary(earlier, from, to(begin, earlier) - from);
                deflater.setInput(picture, begin, Math.min(BLOCK, picture.length - begin));
                deflater.finish();
                while (!deflater.finished()) {
                    out.write(buffer, 0, deflater.deflate(buffer));
                }
            }
        } finally {
            deflater.end();
        }
        return out.toByteArray();
    }

    static byte[] inflate(byte[] data, byte[] earlier) throws DataFormatException {
        var out = new ByteArrayOutputStream();
        var buffer = new byte[BLOCK];
        var inflater = new Inflater(true);
        try {
            for (int begin = 0, used = 0; used < data.length; begin += BLOCK) {
                inflater.reset();
                var from = from(begin, earlier);
                inflater.setDictionary(earlier, from, to(begin, earlier) - from);
                inflater.setInput(data, used, data.length - used);
                while (!inflater.finished()) {
                    var count = inflater.inflate(buffer);
                    if ((count == 0 && !inflater.finished()) || out.size() > LARGEST) {
                        throw new DataFormatException("it is cut off or too large");
                    }
                    out.write(buffer, 0, count);
                }
                used = data.length - inflater.getRemaining();
            }
        } finally {
            inflater.end();
        }
        return out.toByteArray();
    }

    private static int from(int begin, byte[] earlier) {
        return Math.clamp(begin - BEFORE, 0, earlier.length);
    }

    private static int to(int begin, byte[] earlier) {
        return Math.min(begin + AFTER, earlier.length);
    }
}
