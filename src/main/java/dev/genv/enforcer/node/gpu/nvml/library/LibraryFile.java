package dev.genv.enforcer.node.gpu.nvml.library;

import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.files.FileTree;
import dev.genv.enforcer.files.TrustedOwners;
import dev.genv.enforcer.files.TrustedOwners.UntrustedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Finds the file of NVML. A library runs code when it is loaded, so the file is chosen and examined before: the loader's own search would
 * not tell which file it takes.
 *
 * @param name an absolute path, or a name that is searched in the folders
 * @param folders in the order of the search
 */
public record LibraryFile(String name, List<Path> folders) {
    /** Where distributions, NVIDIA's container runtime, Google's machines, NixOS and WSL keep the driver's libraries. */
    private static final List<Path> STANDARD_FOLDERS = Stream.of(
                    "/usr/lib/" + ElfHeader.MULTIARCH,
                    "/lib/" + ElfHeader.MULTIARCH,
                    "/usr/lib64",
                    "/lib64",
                    "/usr/lib",
                    "/lib",
                    "/usr/local/nvidia/lib64",
                    "/usr/local/nvidia/lib",
                    "/usr/local/lib",
                    "/run/opengl-driver/lib",
                    "/usr/lib/wsl/lib")
            .map(Path::of)
            .toList();

    public LibraryFile {
        folders = List.copyOf(folders);
    }

    /**
     * A library in the folders of the loader.
     *
     * @param libraryPath the value of LD_LIBRARY_PATH, whose folders come first
     */
    public static LibraryFile of(String name, String libraryPath) {
        var first = Stream.of(libraryPath.split("[:;]", -1))
                .filter(folder -> folder.startsWith("/"))
                .map(Path::of);
        return new LibraryFile(
                name, Stream.concat(first, STANDARD_FOLDERS.stream()).toList());
    }

    /**
     * Finds the file, and follows all links.
     *
     * @throws NvmlException if there is none for this architecture, or if another user could replace it
     */
    public Path find() throws NvmlException {
        if (name.contains("/")) {
            var file = Path.of(name).toAbsolutePath();
            var objection = ElfHeader.objection(file);
            if (objection.isPresent()) {
                throw refused(file + objection.get());
            }
            return requireTrusted(file);
        }
        var foreign = Optional.<String>empty();
        for (var folder : folders) {
            var file = folder.resolve(name);
            if (Files.exists(file)) {
                var objection = ElfHeader.objection(file);
                if (objection.isEmpty()) {
                    return requireTrusted(file);
                }
                // Like the loader, continue: a folder can hold the libraries of another architecture.
                foreign = foreign.or(() -> objection.map(why -> file + why));
            }
        }
        throw refused(foreign.orElseGet(() -> name + " is not in any of the folders of libraries"));
    }

    private static Path requireTrusted(Path file) throws NvmlException {
        try {
            return new FileTree(Path.of("/")).follow(file, TrustedOwners.ofThisService());
        } catch (UntrustedException e) {
            throw refused("%s is not loaded: %s".formatted(file, e.getMessage()));
        } catch (IOException e) {
            throw refused("%s cannot be examined: %s".formatted(file, e.getMessage()));
        }
    }

    private static NvmlException refused(String sentence) {
        return new NvmlException(Cause.LIBRARY, sentence);
    }
}
