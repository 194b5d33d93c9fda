package dev.genv.enforcer.testsupport.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The versions of the files of a directory. An equal version means that the file was neither changed nor replaced. */
public final class FileVersions {
    private FileVersions() {}

    /** Returns the present versions by the names of the files. The time of the last change (ctime) can be set by no program. */
    public static Map<String, List<Object>> in(Path directory) throws IOException {
        var versions = new TreeMap<String, List<Object>>();
        try (var files = Files.list(directory)) {
            for (var file : files.toList()) {
                var attributes = Files.readAttributes(file, "unix:ino,lastModifiedTime,ctime");
                versions.put(file.getFileName().toString(), List.of(Files.readString(file), attributes));
            }
        }
        return versions;
    }
}
