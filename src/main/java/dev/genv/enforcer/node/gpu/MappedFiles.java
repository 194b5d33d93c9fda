package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.linux.FileStatus;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** The files that a process maps, from its {@code maps}. Only the kernel's numbers are taken from it, because users choose paths. */
final class MappedFiles {
    /** More than the kernel's usual limit of 65,530 mappings needs without long paths. */
    static final int LARGEST = 8 << 20;

    /** {@code addresses permissions offset major:minor inode}; anonymous mappings have the inode 0. */
    private static final Pattern LINE =
            Pattern.compile("(?m)^0*([0-9a-f]+)-0*([0-9a-f]+) \\S+ \\S+ ([0-9a-f]+):([0-9a-f]+) ([1-9][0-9]*)");

    private MappedFiles() {}

    /**
     * A file.
     *
     * @param device of its file system, as in {@link FileStatus}
     */
    record FileKey(long device, long inode) {
        static FileKey of(FileStatus status) {
            return new FileKey(status.device(), status.inode());
        }
    }

    /** Returns for each file, by ascending addresses, the name of its first mapping in {@code map_files}. */
    static Map<FileKey, String> parse(byte[] maps) {
        var files = new LinkedHashMap<FileKey, String>();
        var line = LINE.matcher(new String(maps, StandardCharsets.ISO_8859_1));
        while (line.find()) {
            var device = FileStatus.device(
                    Integer.parseUnsignedInt(line.group(3), 16), Integer.parseUnsignedInt(line.group(4), 16));
            files.putIfAbsent(
                    new FileKey(device, Long.parseUnsignedLong(line.group(5))), line.group(1) + "-" + line.group(2));
        }
        return files;
    }
}
