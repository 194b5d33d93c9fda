package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.Fifo;
import dev.genv.enforcer.testsupport.Myself;
import dev.genv.enforcer.testsupport.RealFlock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** What can be wrong with one of the two state files: as a whole, and with one entry of it. */
final class StateFileFaults {
    private static final String ENVS = "envs.json";
    private static final String DEVICES = "devices.json";
    private static final int TOO_LARGE = 7 << 20;
    private static final int TOO_DEEP = 100_000;
    private static final int TOO_MANY = 1_000_000;
    private static final String HUGE_NUMBER = "1e999999999";

    private final String name;
    private final String list;
    /** Without envs.json nobody knows whether a process without an id stands in some environment's list of pids. */
    private final Fault.Stray stray;

    private StateFileFaults(String name, String list, Fault.Stray stray) {
        this.name = name;
        this.list = list;
        this.stray = stray;
    }

    static List<Fault> ofEnvs() throws IOException {
        var envs = new StateFileFaults(ENVS, "envs", Fault.Stray.SPARED);
        return concat(
                envs.ofTheWhole(),
                envs.entry("an entry of wrong types", """
                        {"eid": "x", "uid": "0", "creation": 1, "username": [], "config": 7, "pids": "1", "kernel_ids": {}}"""),
                envs.entry("an entry with invalid numbers", """
                        {"eid": "x", "uid": -1, "creation": "", "username": null, "config": {"name": null, "gpu_memory": null,
                         "gpus": -1}, "pids": [-1, 0, 99999999999, %s], "kernel_ids": []}""".formatted(HUGE_NUMBER)),
                envs.entry("an entry with an empty id", """
                        {"eid": "", "uid": 0, "creation": "", "username": null, "config": null, "pids": [1], "kernel_ids": []}"""),
                envs.entry("null as an entry", "null"),
                envs.entry("a second entry of the job, with a capacity of 1 MB", """
                        {"eid": "own", "uid": 12345, "creation": "", "username": "other",
                         "config": {"name": null, "gpu_memory": "1m", "gpus": null}, "pids": [], "kernel_ids": []}"""),
                envs.silent(
                        "more keys than genv writes",
                        content -> content.replace("\"uid\"", "\"more\": [{}], \"uid\"")));
    }

    static List<Fault> ofDevices() throws IOException {
        var devices = new StateFileFaults(DEVICES, "devices", Fault.Stray.ENDED);
        return concat(
                devices.ofTheWhole(),
                devices.entry("an entry of wrong types", """
                        {"index": "0", "total_memory": 1, "attachments": {"eid": "own"}}"""),
                devices.entry("a negative index", """
                        {"index": -1, "total_memory": "1mi", "attachments": []}"""),
                devices.entry("an index of 1e999999999", """
                        {"index": %s, "total_memory": "1mi", "attachments": []}""".formatted(HUGE_NUMBER)),
                devices.entry("null as an entry", "null"),
                devices.entry("a second entry of the job's device, without an attachment", """
                        {"index": 0, "total_memory": "1mi", "attachments": []}"""),
                devices.entry("an attachment with an empty id", """
                        {"index": 7, "total_memory": "1mi", "attachments": [{"eid": "", "gpu_memory": null, "time": ""}]}"""),
                devices.changed(
                        "a missing index",
                        content -> content.replace("\"index\": 1,", "\"index\": 7,"),
                        Fault.Stray.ENDED,
                        "device_undescribed"),
                devices.silent(
                        "more keys than genv writes",
                        content -> content.replace("\"index\"", "\"more\": [{}], \"index\"")));
    }

    private List<Fault> ofTheWhole() throws IOException {
        var faults = new ArrayList<>(List.of(
                whole("missing", node -> Files.delete(node.file(name)), "state_incomplete"),
                whole("empty", written(""), "state_unreadable"),
                whole("truncated in the middle", this::tear, "state_unreadable"),
                whole("not UTF-8", this::spoil, "state_unreadable"),
                whole("not JSON", written("Hello"), "state_unreadable"),
                whole("7 MiB large", written(" ".repeat(TOO_LARGE)), "state_unreadable"),
                whole("nested 100,000 deep", written("[".repeat(TOO_DEEP)), "state_unreadable"),
                whole("an array of a million empty objects", written(tooMany()), "state_unreadable"),
                whole("an array at the top level", written("[]"), "state_unreadable"),
                whole("an object with null as the list", written("{\"%s\": null}".formatted(list)), "state_unreadable"),
                whole("a symbolic link to /etc/passwd", linked("/etc/passwd"), "state_unreadable"),
                whole("a symbolic link to itself", linked(name), "state_unreadable"),
                whole("a symbolic link into /proc", linked("/proc/self/environ"), "state_unreadable"),
                whole("a FIFO", replaced(Fifo::at), "state_unreadable"),
                whole("a directory", replaced(Files::createDirectory), "state_unreadable"),
                grows()));
        if (Myself.isRoot()) {
            faults.add(whole("a device", replaced(StateFileFaults::zero), "state_unreadable"));
            faults.add(Fault.harmless(
                    "`" + name + "` has mode 000, which root can read",
                    node -> Files.setPosixFilePermissions(
                            node.file(name), PosixFilePermissions.fromString("---------")),
                    this::restore));
        }
        return faults;
    }

    private Fault whole(String what, Fault.Step make, String code) {
        var told = stray == Fault.Stray.SPARED ? new String[] {code, "membership_unknown"} : new String[] {code};
        return fault("`%s` is %s".formatted(name, what), make, stray, told);
    }

    private Fault entry(String what, String entry) {
        return changed(
                what,
                content -> content.replace("\"%s\": [".formatted(list), "\"%s\": [%s,".formatted(list, entry)),
                Fault.Stray.ENDED,
                "entry_unreadable");
    }

    private Fault silent(String what, Change change) {
        return changed(what, change, Fault.Stray.ENDED);
    }

    private Fault changed(String what, Change change, Fault.Stray becomes, String... told) {
        return fault(
                "`%s` has %s".formatted(name, what),
                node -> Files.writeString(node.file(name), change.of(content(node))),
                becomes,
                told);
    }

    /** Somebody goes on writing into it while it is read. */
    private Fault grows() {
        return Fault.harmless(
                "`%s` is replaced by an equal file all the time".formatted(name),
                node -> node.helper(new Busy(() -> node.node.state.write())),
                node -> {
                    node.stopHelper();
                    restore(node);
                });
    }

    /** Made and undone under genv's lock, so that no look sees it half done. */
    private Fault fault(String what, Fault.Step make, Fault.Stray becomes, String... told) {
        Fault.Step locked = node -> {
            try (var _ = RealFlock.take(node.lock())) {
                make.run(node);
            }
        };
        return becomes == Fault.Stray.ENDED
                ? Fault.harmless(what, locked, this::restore, told)
                : Fault.blinding(what, locked, this::restore, told);
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

    private Fault.Step written(String content) {
        return node -> Files.writeString(node.file(name), content);
    }

    private Fault.Step linked(String target) {
        return replaced(file -> Files.createSymbolicLink(file, Path.of(target)));
    }

    private Fault.Step replaced(Maker maker) {
        return node -> {
            Files.delete(node.file(name));
            maker.make(node.file(name));
        };
    }

    private void tear(FaultyNode node) throws IOException {
        var content = content(node);
        Files.writeString(node.file(name), content.substring(0, content.length() / 2));
    }

    private void spoil(FaultyNode node) throws IOException {
        Files.writeString(
                node.file(name), content(node).replace("\": \"", "\": \"\u00ff"), StandardCharsets.ISO_8859_1);
    }

    private String tooMany() {
        return "{\"%s\": [%s{}]}".formatted(list, "{},".repeat(TOO_MANY));
    }

    private static void zero(Path file) throws IOException {
        Command.run("mknod", file.toString(), "c", "1", "5");
    }

    private static List<Fault> concat(List<Fault> faults, Fault... more) {
        return Stream.concat(faults.stream(), Stream.of(more)).toList();
    }

    private interface Change {
        String of(String content);
    }

    private interface Maker {
        void make(Path file) throws Exception;
    }
}
