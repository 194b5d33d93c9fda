package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.BackgroundLoop;
import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Faults of one of the two state files, or of one entry of it. */
final class StateFileFaults {
    private static final String ENVS = "envs.json";
    private static final String DEVICES = "devices.json";
    private static final int TOO_LARGE = 7 << 20;
    private static final int TOO_DEEP = 100_000;
    private static final int TOO_MANY = 1_000_000;
    private static final String HUGE_NUMBER = "1e999999999";

    private final String name;
    private final String list;
    /** Without envs.json it is unknown whether an environment lists a process without an id. */
    private final Fault.StrayOutcome strayOutcome;

    private StateFileFaults(String name, String list, Fault.StrayOutcome stray) {
        this.name = name;
        this.list = list;
        this.strayOutcome = stray;
    }

    static List<Fault> ofEnvs() throws IOException {
        var envs = new StateFileFaults(ENVS, "envs", Fault.StrayOutcome.TERMINATED_AFTERWARDS);
        return concat(
                envs.wholeFileFaults(),
                envs.entryFault("an entry of wrong types", """
                        {"eid": "x", "uid": "0", "creation": 1, "username": [], "config": 7, "pids": "1", "kernel_ids": {}}"""),
                envs.entryFault("an entry with invalid numbers", """
                        {"eid": "x", "uid": -1, "creation": "", "username": null, "config": {"name": null, "gpu_memory": null,
                         "gpus": -1}, "pids": [-1, 0, 99999999999, %s], "kernel_ids": []}""".formatted(HUGE_NUMBER)),
                envs.entryFault("an entry with an empty id", """
                        {"eid": "", "uid": 0, "creation": "", "username": null, "config": null, "pids": [1], "kernel_ids": []}"""),
                envs.entryFault("null as an entry", "null"),
                envs.entryFault("a second entry of the job, with a capacity of 1 MB", """
                        {"eid": "own", "uid": 12345, "creation": "", "username": "other",
                         "config": {"name": null, "gpu_memory": "1m", "gpus": null}, "pids": [], "kernel_ids": []}"""),
                envs.unreportedChange(
                        "more keys than genv writes",
                        content -> content.replace("\"uid\"", "\"more\": [{}], \"uid\"")));
    }

    static List<Fault> ofDevices() throws IOException {
        var devices = new StateFileFaults(DEVICES, "devices", Fault.StrayOutcome.TERMINATED);
        return concat(
                devices.wholeFileFaults(),
                devices.entryFault("an entry of wrong types", """
                        {"index": "0", "total_memory": 1, "attachments": {"eid": "own"}}"""),
                devices.entryFault("a negative index", """
                        {"index": -1, "total_memory": "1mi", "attachments": []}"""),
                devices.entryFault("an index of 1e999999999", """
                        {"index": %s, "total_memory": "1mi", "attachments": []}""".formatted(HUGE_NUMBER)),
                devices.entryFault("null as an entry", "null"),
                devices.entryFault("a second entry of the job's device, without an attachment", """
                        {"index": 0, "total_memory": "1mi", "attachments": []}"""),
                devices.entryFault("an attachment with an empty id", """
                        {"index": 7, "total_memory": "1mi", "attachments": [{"eid": "", "gpu_memory": null, "time": ""}]}"""),
                devices.changeFault(
                        "a missing index",
                        content -> content.replace("\"index\": 1,", "\"index\": 7,"),
                        Fault.StrayOutcome.TERMINATED,
                        "device_undescribed"),
                devices.unreportedChange(
                        "more keys than genv writes",
                        content -> content.replace("\"index\"", "\"more\": [{}], \"index\"")));
    }

    private List<Fault> wholeFileFaults() throws IOException {
        var faults = new ArrayList<>(List.of(
                wholeFileFault("missing", node -> Files.delete(node.file(name)), "state_incomplete"),
                wholeFileFault("empty", writeStep(""), "state_unreadable"),
                wholeFileFault("truncated in the middle", this::truncate, "state_unreadable"),
                wholeFileFault("not UTF-8", this::corrupt, "state_unreadable"),
                wholeFileFault("not JSON", writeStep("Hello"), "state_unreadable"),
                wholeFileFault("7 MiB large", writeStep(" ".repeat(TOO_LARGE)), "state_unreadable"),
                wholeFileFault("nested 100,000 deep", writeStep("[".repeat(TOO_DEEP)), "state_unreadable"),
                wholeFileFault("an array of a million empty objects", writeStep(tooManyEntries()), "state_unreadable"),
                wholeFileFault("an array at the top level", writeStep("[]"), "state_unreadable"),
                wholeFileFault(
                        "an object with null as the list",
                        writeStep("{\"%s\": null}".formatted(list)),
                        "state_unreadable"),
                wholeFileFault("a symbolic link to /etc/passwd", linkStep("/etc/passwd"), "state_unreadable"),
                wholeFileFault("a symbolic link to itself", linkStep(name), "state_unreadable"),
                wholeFileFault("a symbolic link into /proc", linkStep("/proc/self/environ"), "state_unreadable"),
                wholeFileFault("a FIFO", replaceStep(Fifo::at), "state_unreadable"),
                wholeFileFault("a directory", replaceStep(Files::createDirectory), "state_unreadable"),
                replacedRepeatedly()));
        if (CurrentProcess.isRoot()) {
            faults.add(wholeFileFault("a device", replaceStep(StateFileFaults::makeZeroDevice), "state_unreadable"));
            faults.add(Fault.harmless(
                    "`" + name + "` has mode 000, which root can read",
                    node -> Files.setPosixFilePermissions(
                            node.file(name), PosixFilePermissions.fromString("---------")),
                    this::restore));
        }
        return faults;
    }

    private Fault wholeFileFault(String what, Fault.Step inject, String code) {
        var reported = strayOutcome == Fault.StrayOutcome.TERMINATED_AFTERWARDS
                ? new String[] {code, "membership_unknown"}
                : new String[] {code};
        return fault("`%s` is %s".formatted(name, what), inject, strayOutcome, reported);
    }

    private Fault entryFault(String what, String entry) {
        return changeFault(
                what,
                content -> content.replace("\"%s\": [".formatted(list), "\"%s\": [%s,".formatted(list, entry)),
                Fault.StrayOutcome.TERMINATED,
                "entry_unreadable");
    }

    private Fault unreportedChange(String what, Change change) {
        return changeFault(what, change, Fault.StrayOutcome.TERMINATED);
    }

    private Fault changeFault(String what, Change change, Fault.StrayOutcome becomes, String... reported) {
        return fault(
                "`%s` has %s".formatted(name, what),
                node -> Files.writeString(node.file(name), change.apply(content(node))),
                becomes,
                reported);
    }

    /** Another program writes the file while the service reads it. */
    private Fault replacedRepeatedly() {
        return Fault.harmless(
                "`%s` is replaced by an equal file all the time".formatted(name),
                node -> node.setHelper(new BackgroundLoop(() -> node.node.state.write())),
                node -> {
                    node.stopHelper();
                    restore(node);
                });
    }

    /** The fault is caused and removed under genv's lock, so that no observation sees it half done. */
    private Fault fault(String what, Fault.Step inject, Fault.StrayOutcome becomes, String... reported) {
        Fault.Step locked = node -> {
            try (var _ = RealFlock.take(node.lock())) {
                inject.run(node);
            }
        };
        return becomes == Fault.StrayOutcome.TERMINATED
                ? Fault.harmless(what, locked, this::restore, reported)
                : Fault.preventingTermination(what, locked, this::restore, reported);
    }

    private void restore(FaultyNode node) throws IOException {
        try (var _ = RealFlock.take(node.lock())) {
            Files.deleteIfExists(node.file(name));
            node.node.state.write();
        }
    }

    private String content(FaultyNode node) {
        return name.equals(ENVS) ? node.node.state.envsJson() : node.node.state.devicesJson();
    }

    private Fault.Step writeStep(String content) {
        return node -> Files.writeString(node.file(name), content);
    }

    private Fault.Step linkStep(String target) {
        return replaceStep(file -> Files.createSymbolicLink(file, Path.of(target)));
    }

    private Fault.Step replaceStep(Maker maker) {
        return node -> {
            Files.delete(node.file(name));
            maker.make(node.file(name));
        };
    }

    private void truncate(FaultyNode node) throws IOException {
        var content = content(node);
        Files.writeString(node.file(name), content.substring(0, content.length() / 2));
    }

    private void corrupt(FaultyNode node) throws IOException {
        Files.writeString(
                node.file(name), content(node).replace("\": \"", "\": \"\u00ff"), StandardCharsets.ISO_8859_1);
    }

    private String tooManyEntries() {
        return "{\"%s\": [%s{}]}".formatted(list, "{},".repeat(TOO_MANY));
    }

    private static void makeZeroDevice(Path file) throws IOException {
        Command.run("mknod", file.toString(), "c", "1", "5");
    }

    private static List<Fault> concat(List<Fault> faults, Fault... more) {
        return Stream.concat(faults.stream(), Stream.of(more)).toList();
    }

    private interface Change {
        String apply(String content);
    }

    private interface Maker {
        void make(Path file) throws Exception;
    }
}
