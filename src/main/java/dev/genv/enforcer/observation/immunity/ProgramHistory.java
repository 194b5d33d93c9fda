package dev.genv.enforcer.observation.immunity;

import dev.genv.enforcer.facts.ProcessFacts.ProgramFile;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The files that protected programs had, because a process keeps running the file that an upgrade replaces. Only files of the present
 * file system are kept: the number of one that was unmounted can become that of a user's.
 */
public final class ProgramHistory {
    private static final int MOST_FILES = 16;

    private final Map<Path, LinkedHashSet<ProgramFile>> files = new HashMap<>();

    /** Returns the earlier files at a path at which no file is now. */
    Set<ProgramFile> known(Path path) {
        return files.getOrDefault(path, new LinkedHashSet<>()).stream()
                .filter(file -> file.born() != 0)
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Records the present file at a path, and returns it with the earlier ones. */
    Set<ProgramFile> record(Path path, ProgramFile present) {
        var known = files.computeIfAbsent(path, _ -> new LinkedHashSet<>());
        known.removeIf(
                file -> file.born() == 0 || file.id().device() != present.id().device());
        known.remove(present);
        known.add(present);
        if (known.size() > MOST_FILES) {
            known.removeFirst();
        }
        return Set.copyOf(known);
    }
}
