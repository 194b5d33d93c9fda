package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * An nvidia-smi that costs little more than the start of a process: a static C program that prints files. It answers the queries of
 * the service and of genv, and counts those for processes.
 */
final class CheapGpus {
    private static final String SOURCE = """
        #include <fcntl.h>
        #include <string.h>
        #include <unistd.h>

        static void copy(const char *file) {
            static char buffer[1 << 16];
            int from = open(file, O_RDONLY);
            for (ssize_t n; (n = read(from, buffer, sizeof buffer)) > 0;)
                if (write(1, buffer, n) != n) _exit(1);
        }

        int main(int count, char **arguments) {
            if (count < 2) { /* a job */
                for (;;) pause();
            }
            if (strstr(arguments[1], "compute-apps")) {
                int calls = open(FOLDER "/calls", O_WRONLY | O_CREAT | O_APPEND, 0600);
                if (write(calls, ".", 1) != 1) _exit(1);
                copy(FOLDER "/processes");
            } else
                copy(strstr(arguments[1], "=uuid,index") ? FOLDER "/uuids" : FOLDER "/gpus");
            _exit(0);
        }
        """;

    private static final int MEBIBYTES_OF_PROCESS = 1000;

    private final Path folder;

    CheapGpus(Path folder, int devices) throws IOException, InterruptedException {
        this.folder = Files.createDirectories(folder);
        var source = Files.writeString(folder.resolve("nvidia-smi.c"), SOURCE);
        var compiler = new ProcessBuilder(
                        "gcc",
                        "-O2",
                        "-static",
                        "-DFOLDER=\"" + folder + "\"",
                        "-o",
                        program().toString(),
                        source.toString())
                .inheritIO()
                .start();
        if (compiler.waitFor() != 0) {
            throw new IOException("gcc does not compile " + source);
        }
        var gpus = new ArrayList<String>();
        var uuids = new ArrayList<String>();
        for (var device = 0; device < devices; device++) {
            gpus.add("%d, %s, 0".formatted(device, FakeNvidiaSmi.uuid(device)));
            uuids.add("%s, %d".formatted(FakeNvidiaSmi.uuid(device), device));
        }
        Files.write(folder.resolve("gpus"), gpus);
        Files.write(folder.resolve("uuids"), uuids);
    }

    Path folder() {
        return folder;
    }

    Path program() {
        return folder.resolve("nvidia-smi");
    }

    /** Lists these processes: each uses one device, in turn. */
    void list(List<Process> jobs, int devices) throws IOException {
        var lines = new ArrayList<String>();
        for (var i = 0; i < jobs.size(); i++) {
            lines.add("%s, %d, %d"
                    .formatted(FakeNvidiaSmi.uuid(i % devices), jobs.get(i).pid(), MEBIBYTES_OF_PROCESS));
        }
        Files.write(folder.resolve("processes"), lines);
    }

    /** Returns how often the processes were queried. */
    long calls() throws IOException {
        var file = folder.resolve("calls");
        return Files.exists(file) ? Files.size(file) : 0;
    }
}
