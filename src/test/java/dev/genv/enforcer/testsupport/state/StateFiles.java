package dev.genv.enforcer.testsupport.state;

import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** genv's state files, written as genv 1.4.3 writes them, byte for byte and without any of the service's own code. */
public final class StateFiles {
    /** The default time of entries. */
    public static final String TIME = "20/11/2026 09:22:28";

    private final Path directory;
    private final Map<String, String> envs = new TreeMap<>();
    private final Map<Integer, String> devices = new TreeMap<>();

    public StateFiles(Path directory) {
        this.directory = directory;
    }

    /** Adds an environment, or replaces the one with the same id. */
    public StateFiles env(
            String eid, long uid, @Nullable String username, @Nullable String gpuMemory, Integer... pids) {
        return env(eid, uid, username, gpuMemory, List.of(pids), List.of());
    }

    /** Adds an environment of the user who runs the tests, so that its owner is not disputed. */
    public StateFiles ownEnv(String eid, @Nullable String gpuMemory, Integer... pids) throws IOException {
        return env(eid, CurrentProcess.uid(), CurrentProcess.name(), gpuMemory, pids);
    }

    /** Adds an environment with Jupyter kernels. */
    public StateFiles env(
            String eid,
            long uid,
            @Nullable String username,
            @Nullable String gpuMemory,
            List<Integer> pids,
            List<String> kernelIds) {
        envs.put(eid, """
                {
                  "eid": %s,
                  "uid": %d,
                  "creation": "%s",
                  "username": %s,
                  "config": {
                    "name": null,
                    "gpu_memory": %s,
                    "gpus": null
                  },
                  "pids": %s,
                  "kernel_ids": %s
                }\
            """.formatted(
                        text(eid),
                        uid,
                        TIME,
                        text(username),
                        text(gpuMemory),
                        array(pids.stream().map(String::valueOf).toList(), 6),
                        array(kernelIds.stream().map(StateFiles::text).toList(), 6)));
        return this;
    }

    /** Adds a device without attachments. */
    public StateFiles device(int index) {
        return device(index, new Attachment[0]);
    }

    /** Adds a device that is attached to these environments. */
    public StateFiles device(int index, String... eids) {
        return device(
                index,
                Arrays.stream(eids).map(eid -> new Attachment(eid, null, TIME)).toArray(Attachment[]::new));
    }

    /** Adds a device with these attachments, or replaces the one with the same index. */
    public StateFiles device(int index, Attachment... attachments) {
        var entries = Arrays.stream(attachments)
                .map(attachment ->
                        """
                        {
                                  "eid": %s,
                                  "gpu_memory": %s,
                                  "time": %s
                                }\
                        """.formatted(text(attachment.eid()), text(attachment.gpuMemory()), text(attachment.time())))
                .toList();
        devices.put(index, """
                {
                  "index": %d,
                  "total_memory": "15258mi",
                  "attachments": %s
                }\
            """.formatted(index, array(entries, 6)));
        return this;
    }

    public StateFiles withoutEnv(String eid) {
        envs.remove(eid);
        return this;
    }

    public StateFiles withoutDevice(int index) {
        devices.remove(index);
        return this;
    }

    public String envsJson() {
        return file("envs", List.copyOf(envs.values()));
    }

    public String devicesJson() {
        return file("devices", List.copyOf(devices.values()));
    }

    /** Replaces both files, each at once. */
    public StateFiles write() throws IOException {
        return replaceFile("envs.json", envsJson()).writeDevices();
    }

    public StateFiles writeDevices() throws IOException {
        return replaceFile("devices.json", devicesJson());
    }

    private StateFiles replaceFile(String name, String content) throws IOException {
        var finished = Files.writeString(Files.createDirectories(directory).resolve(name + ".new"), content);
        Files.move(finished, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        return this;
    }

    private static String file(String name, List<String> entries) {
        return "{\n  \"%s\": %s\n}"
                .formatted(name, array(entries.stream().map(String::strip).toList(), 2));
    }

    private static String array(List<String> elements, int indent) {
        var end = "\n" + " ".repeat(indent);
        return elements.isEmpty()
                ? "[]"
                : elements.stream().collect(Collectors.joining("," + end + "  ", "[" + end + "  ", end + "]"));
    }

    private static String text(@Nullable String text) {
        if (text == null) {
            return "null";
        }
        return text.chars().mapToObj(StateFiles::escaped).collect(Collectors.joining("", "\"", "\""));
    }

    private static String escaped(int letter) {
        if (letter == '"' || letter == '\\') {
            return "\\" + (char) letter;
        }
        return letter < ' ' || letter > '~' ? "\\u%04x".formatted(letter) : Character.toString(letter);
    }
}
