package dev.genv.enforcer.remote.genv;

import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A program that answers {@code usage snapshot} and {@code usage execute} as genv 1.4.3 does, without any of the service's own code. It recognises an object by its exact set of keys, and fails for any other. It reads the GPU processes from {@code apps} in the state directory: lines of pid, device and mebibytes.
 */
final class FakeGenv {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path DIRECTORY = Path.of(Objects.requireNonNullElse(System.getenv("GENV_TMPDIR"), "/nowhere"));
    private static final Set<String> REPORT = Set.of("terminate", "detach");
    private static final Set<String> PROCESSES = Set.of("processes");
    private static final Set<String> PROCESS = Set.of("pid", "used_gpu_memory", "eid");
    private static final Set<String> USE = Set.of("index", "gpu_memory");
    private static final Set<String> ENVS = Set.of("envs");
    private static final Set<String> ENV = Set.of("eid", "uid", "creation", "username", "config", "pids", "kernel_ids");
    private static final Set<String> CONFIG = Set.of("name", "gpu_memory", "gpus");

    private FakeGenv() {}

    public static void main(String... args) throws IOException {
        switch (String.join(" ", args)) {
            case "usage snapshot" -> snapshot();
            case "usage execute" -> execute(JSON.readTree(System.in));
            default -> System.exit(2);
        }
    }

    private static void snapshot() throws IOException {
        var byPid = new LinkedHashMap<String, ArrayNode>();
        for (var line : Files.readAllLines(DIRECTORY.resolve("apps"))) {
            var fields = line.split(" ", -1);
            byPid.computeIfAbsent(fields[0], _ -> JSON.createArrayNode())
                    .addObject()
                    .put("index", Integer.parseInt(fields[1]))
                    .put("gpu_memory", fields[2] + "mi");
        }
        var snapshot = JSON.createObjectNode();
        var processes = snapshot.putObject("processes").putArray("processes");
        byPid.forEach((pid, usage) -> {
            var process = processes.addObject().put("pid", Integer.parseInt(pid));
            process.set("used_gpu_memory", usage);
            process.put("eid", eid(pid));
        });
        snapshot.set("envs", JSON.readTree(DIRECTORY.resolve("envs.json").toFile()));
        snapshot.set("devices", JSON.readTree(DIRECTORY.resolve("devices.json").toFile()));
        System.out.print(JSON.writer(new DefaultPrettyPrinter().withArrayIndenter(new DefaultIndenter("  ", "\n")))
                .writeValueAsString(snapshot));
        System.out.print("\n");
    }

    /** Null also if it cannot be read, which genv reports only on standard error. */
    private static @Nullable String eid(String pid) {
        try {
            return Arrays.stream(
                            Files.readString(Path.of("/proc", pid, "environ")).split("\0", -1))
                    .filter(entry -> entry.startsWith("GENV_ENVIRONMENT_ID="))
                    .findFirst()
                    .map(entry -> entry.substring(entry.indexOf('=') + 1))
                    .orElse(null);
        } catch (IOException e) {
            System.err.println("[DEBUG] Process " + pid + " already terminated");
            return null;
        }
    }

    private static void execute(JsonNode report) throws IOException {
        requireExactKeys(report, REPORT);
        for (var process : requireExactKeys(report.path("terminate"), PROCESSES).path("processes")) {
            requireExactKeys(process, PROCESS).path("used_gpu_memory").forEach(use -> requireExactKeys(use, USE));
            System.out.println("Terminating process " + process.path("pid").intValue());
            ProcessHandle.of(process.path("pid").intValue())
                    .ifPresentOrElse(
                            ProcessHandle::destroy,
                            () -> System.err.println("[DEBUG] Process " + process.path("pid") + " already terminated"));
        }
        for (Map.Entry<String, JsonNode> detach : report.path("detach").properties()) {
            for (var env : requireExactKeys(detach.getValue(), ENVS).path("envs")) {
                requireExactKeys(requireExactKeys(env, ENV).path("config"), CONFIG);
                detach(env.path("eid").textValue(), Integer.parseInt(detach.getKey()));
            }
        }
    }

    private static void detach(String eid, int index) throws IOException {
        var path = DIRECTORY.resolve("devices.json").toFile();
        var file = (ObjectNode) JSON.readTree(path);
        ((ArrayNode) file.path("devices").path(index).path("attachments"))
                .removeIf(attachment -> attachment.path("eid").asText().equals(eid));
        JSON.writerWithDefaultPrettyPrinter().writeValue(path, file);
    }

    private static JsonNode requireExactKeys(JsonNode object, Set<String> keys) {
        var names = new HashSet<String>();
        object.fieldNames().forEachRemaining(names::add);
        if (!names.equals(keys)) {
            throw new NoSuchElementException("'dict' object has no attribute, for its keys are " + names);
        }
        return object;
    }
}
