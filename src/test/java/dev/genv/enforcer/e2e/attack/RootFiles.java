package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.testsupport.linux.FileVersions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Files of root with the names of genv's files, which no attack may change. */
record RootFiles(Path directory, Map<String, FileVersions.Version> before) {
    static RootFiles create(Path directory) throws IOException {
        Files.createDirectory(directory);
        for (var name : List.of("envs.json", "devices.json", "genv.lock", ".genv-enforcer.lock")) {
            Files.writeString(directory.resolve(name), "root's own " + name);
        }
        return new RootFiles(directory, FileVersions.in(directory));
    }

    boolean areUnchanged() throws IOException {
        return FileVersions.in(directory).equals(before);
    }
}
