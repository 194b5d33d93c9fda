package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The facts that every adapter must deliver for a described machine. */
record DescribedFacts(DescribedMachine machine) {
    HostFacts all() throws IOException {
        var listed = new ArrayList<ProcessFacts>();
        for (var pid : machine.tool.pids()) {
            listed.add(process(pid));
        }
        var live = new ArrayList<LiveProcess>();
        for (var pid : machine.processes.keySet()) {
            live.add(new LiveProcess(pid, machine.uids.get(pid) instanceof Reading.Value<Long>(var uid) ? uid : null));
        }
        return new HostFacts(
                new MachineFacts("", "", "", machine.ticks, machine.ticks),
                machine.access,
                new AccountFacts(text("passwd"), text("subuid")),
                machine.settings().programs().stream()
                        .map(program -> machine.programFiles.getOrDefault(
                                program.path().toString(), Reading.failed(Failure.ABSENT, "")))
                        .toList(),
                machine.tool.facts(),
                listed,
                relatedFacts(),
                RelatedOmission.NONE,
                holderFacts(),
                null,
                machine.directory == null
                        ? present()
                        : new StateFacts(
                                machine.directory,
                                LockFacts.NOT_ATTEMPTED,
                                new StateFile.Absent(),
                                new StateFile.Absent()),
                new LivenessFacts(Reading.of(live), machine.kernels),
                EnforcerFacts.NONE,
                List.of());
    }

    private List<ProcessFacts> relatedFacts() throws IOException {
        var facts = new ArrayList<ProcessFacts>();
        for (var pid : machine.related) {
            facts.add(process(pid));
        }
        return facts;
    }

    private HolderFacts holderFacts() throws IOException {
        var holders = new ArrayList<HolderFacts.Holder>();
        for (var pid : machine.holders) {
            holders.add(new HolderFacts.Holder(process(pid), List.of(DeviceFileHolder.MINOR), List.of()));
        }
        return new HolderFacts(machine.drivenGpus, holders, "");
    }

    private StateFacts present() throws IOException {
        var inode = (long) Files.getAttribute(machine.state, "unix:ino");
        return new StateFacts(
                new Directory.Present(new FileId(1, inode), 1),
                machine.lock,
                machine.files.get("envs.json"),
                machine.files.get("devices.json"));
    }

    private Reading<TextFile> text(String name) throws IOException {
        var bytes = Files.readAllBytes(machine.etc.resolve(name));
        return Reading.of(new TextFile(Integer.toString(Arrays.hashCode(bytes)), Bytes.of(bytes)));
    }

    private ProcessFacts process(int pid) throws IOException {
        var stat = stat(pid);
        var facts = new ProcessFacts(
                pid,
                stat,
                machine.uids.getOrDefault(pid, Reading.failed(Failure.ABSENT, "")),
                machine.environs.getOrDefault(pid, Reading.failed(Failure.ABSENT, "")),
                machine.executables.getOrDefault(pid, Reading.failed(Failure.ABSENT, "No such file or directory")),
                cgroup(pid),
                Reading.failed(Failure.SKIPPED, ""),
                stat);
        return machine.related.isEmpty() || !machine.processes.containsKey(pid)
                ? facts
                : new ProcessFacts(
                        facts.pid(),
                        facts.before(),
                        facts.uid(),
                        facts.environ(),
                        facts.executable(),
                        facts.cgroup(),
                        Reading.of(Bytes.of(Integer.toString(pid).getBytes(StandardCharsets.US_ASCII))),
                        facts.after());
    }

    private Reading<Bytes> cgroup(int pid) throws IOException {
        var process = machine.processes.get(pid);
        return process == null
                ? Reading.failed(Failure.ABSENT, "")
                : Reading.of(Bytes.of(Files.readAllBytes(process.file("cgroup"))));
    }

    private Reading<Bytes> stat(int pid) throws IOException {
        var process = machine.processes.get(pid);
        return process == null
                ? Reading.failed(Failure.ABSENT, "")
                : Reading.of(Bytes.of(Files.readAllBytes(process.file("stat"))));
    }
}
