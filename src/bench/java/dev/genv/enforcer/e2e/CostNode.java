package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** A node of the given size with real processes, none of which breaks a rule. */
final class CostNode implements AutoCloseable {
    private final Size size;
    private final Path folder;
    private final CheapGpus gpus;
    private final CheapGpus gpusOfGenv;
    private final List<Process> jobs = new ArrayList<>();

    /**
     * The size of a node.
     *
     * @param processes of all devices together
     */
    record Size(int devices, int environments, int processes) {
        /** Parses a size such as {@code 8x16x32}: devices, environments, processes. */
        static Size parse(String text) {
            var numbers = text.split("x", -1);
            return new Size(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]), Integer.parseInt(numbers[2]));
        }
    }

    CostNode(Size size) throws IOException, InterruptedException {
        this.size = size;
        folder = Files.createTempDirectory("genv-node-cost");
        gpus = new CheapGpus(folder.resolve("bin"), size.devices);
        gpusOfGenv = new CheapGpus(folder.resolve("bin-of-genv"), size.devices);
        for (var i = 0; i < size.processes; i++) {
            // A process is on an attached device of its environment.
            var job = new ProcessBuilder(gpus.program().toString());
            job.environment().put("GENV_ENVIRONMENT_ID", "e" + i % size.environments);
            jobs.add(job.start());
        }
        gpusOfGenv.list(jobs, size.devices);
        describe(gpus, new StateFiles(Files.createDirectory(stateDirectory())));
    }

    /** Writes what nvidia-smi and genv's state of this node say, also as those of another machine that has these processes. */
    void describe(CheapGpus tool, StateFiles state) throws IOException {
        tool.list(jobs, size.devices);
        for (var environment = 0; environment < size.environments; environment++) {
            var pids = new ArrayList<Integer>();
            for (var i = environment; i < jobs.size(); i += size.environments) {
                pids.add(Math.toIntExact(jobs.get(i).pid()));
            }
            state.ownEnv("e" + environment, null, pids.toArray(Integer[]::new));
        }
        for (var device = 0; device < size.devices; device++) {
            state.device(device, attached(device));
        }
        state.write();
    }

    private String[] attached(int device) {
        var environments = new ArrayList<String>();
        for (var environment = device % size.environments;
                environment < size.environments;
                environment += size.devices) {
            environments.add("e" + environment);
        }
        return environments.toArray(String[]::new);
    }

    private Path stateDirectory() {
        return folder.resolve("genv");
    }

    Path folder() {
        return folder;
    }

    /** Returns the nvidia-smi of genv's daemon: one of its own, because its calls count the cycles of genv. */
    CheapGpus gpusOfGenv() {
        return gpusOfGenv;
    }

    /** Returns the settings of the service with a cycle in each interval, with every rule of genv's daemon on. */
    Map<String, String> settings(Duration interval) {
        return Map.of(
                "GENV_ENFORCER_STATE_DIR", stateDirectory().toString(),
                "GENV_ENFORCER_NVIDIA_SMI", gpus.program().toString(),
                "GENV_ENFORCER_NON_ENV_PROCESSES", "enforce",
                "GENV_ENFORCER_REQUIRE_HOST_PID", "false",
                "GENV_ENFORCER_INTERVAL", interval.toSeconds() + "s",
                "MALLOC_ARENA_MAX", "2", // as the script of the image
                "QUARKUS_HTTP_PORT", "0",
                "QUARKUS_MANAGEMENT_PORT", "0");
    }

    /** Returns the environment of genv's own daemon. */
    Map<String, String> genv(Path source) {
        return Map.of(
                "GENV_TMPDIR", stateDirectory().toString(),
                "PYTHONPATH", source.toString(),
                "PATH", gpusOfGenv.folder() + ":" + System.getenv("PATH"));
    }

    @Override
    public void close() throws IOException {
        jobs.forEach(Process::destroyForcibly);
        try (var files = Files.walk(folder)) {
            for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
