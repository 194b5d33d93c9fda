package dev.genv.enforcer.testsupport.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.TreeMap;

/** The versions of the files of a directory. An equal version means that the file was neither changed nor replaced. */
public final class FileVersions {
    private FileVersions() {}

    /**
     * One version of a file.
     *
     * @param changed the time of the last change of content or attributes, which no program can set
     */
    public record Version(String content, Object inode, FileTime modified, Object changed) {}

    /** Returns the present versions by the names of the files. */
    public static Map<String, Version> in(Path directory) throws IOException {
        var versions = new TreeMap<String, Version>();
        try (var files = Files.list(directory)) {
            for (var file : files.toList()) {
                versions.put(
                        file.getFileName().toString(),
                        new Version(
                                Files.readString(file),
                                Files.getAttribute(file, "unix:ino"),
                                Files.getLastModifiedTime(file),
                                Files.getAttribute(file, "unix:ctime")));
            }
        }
        return versions;
    }
}
