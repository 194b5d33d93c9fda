package dev.genv.enforcer.observation;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.HostFacts.VerifiedProcess;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.User.Source;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.ConfiguredUsers.ConfiguredUser;
import dev.genv.enforcer.observation.GroupReader.ConfiguredGroup;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ObserverSettings.Needs;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.Plans;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The facts of a machine in words, and what an observer makes of them. At first, process 812 of alice (uid 1003) in environment a uses 1,542
 * MiB of device 0, which is attached to a; device 1 is free. Each process was started at tick 100, it is tick 1,000,000, and the service
 * waits for the exit of 812.
 *
 * <p>A pid and what follows adds a process or changes one. {@code apps DEVICE:PID:MIB} and {@code gpus DEVICE:USED} are what nvidia-smi
 * answers, in which device N has the UUID GPU-N, and its place as index. {@code envs EID:UID:USER:PIDS:KERNELS} and
 * {@code devices INDEX:EIDS} are the state; {@code write FILE TEXT} and {@code remove FILE} change one of its files. {@code see} observes
 * and describes, {@code broken} observes and tells how env-devices is broken, and {@code text} tells what the last problem says.
 */
final class FactsMachine {
    private final Map<Integer, Described> processes = new TreeMap<>();
    private final Map<String, StateFile> state = new HashMap<>();
    private @Nullable StateFacts earlier;
    private final Map<String, String> etc = new HashMap<>();
    private final List<String> exempt = new ArrayList<>();
    private boolean areLiveUidsRead = true;
    private final List<ConfiguredUser> limited = new ArrayList<>();
    private final Map<String, Long> named = new HashMap<>();
    private final Map<String, List<Long>> memberships = new HashMap<>();
    private final List<String> exemptCgroups = new ArrayList<>();
    private final List<String> earlierCgroups = new ArrayList<>();
    private final List<ConfiguredGroup> groups = new ArrayList<>();
    private ObservationRequest asked = new ObservationRequest(Set.of());
    /** Whether the name service {@code answers}, {@code finds-nobody}, {@code hangs}, or is one of a {@code container}. */
    private String directoryState = "finds-nobody";

    private Instant wall = Instant.parse("2026-11-20T09:00:00Z");
    private final List<String> found = new ArrayList<>();
    private ToolOutput apps = new ToolOutput(0, Bytes.EMPTY, Bytes.EMPTY);
    private ToolOutput gpus = apps;
    private ToolOutput status = apps;
    private boolean gpusAreCurrent = true;
    private boolean isProcReadable = true;
    private EnforcerFacts enforcers = EnforcerFacts.NONE;
    private Kernels kernels = Kernels.NONE;
    private String machineId = "0123456789abcdef".repeat(2);
    private String cgroupRoot = "/";
    private int boot = 1;
    private int directory = 1;
    private long now = 1_000_000;
    private String namespace = AccessFacts.FIRST_PID_NAMESPACE;
    private Advice advice = Advice.CONTAINER;
    private @Nullable Observer observer;
    private @Nullable Snapshot last;

    /** A process, whose environ cannot be read if it is null. */
    private static final class Described {
        private @Nullable Long uid = 1003L;
        private @Nullable String environ = "";
        private boolean isOverwritten;
        private long start = 100;
        private char state = 'S';
        private long flags;
        private int parent = 1;
        private long session = 1;
        private boolean isMoving;
        /** How far its environ is from where those of others are. */
        private long environAt;

        private boolean isExecuting;
        private int namespaces = 1;
        private String cgroup = "/";
        private @Nullable String uidMap = "0 0 4294967295";

        private void names(String eid) {
            environ = eid;
            isOverwritten = false;
        }

        private ProcessFacts facts(int pid) {
            var stat = state == '?' ? Reading.<Bytes>failed(Failure.OTHER, "why") : stat(pid, parent, environAt);
            var after = isMoving ? stat(pid, 9, environAt) : isExecuting ? stat(pid, parent, environAt + 1) : stat;
            return new ProcessFacts(
                    pid,
                    stat,
                    uid == null ? Reading.failed(Failure.OTHER, "status has no uid") : Reading.of(uid),
                    environ == null
                            ? Reading.failed(Failure.NO_TIME, "no time was left")
                            : Reading.of(new EnvironFacts(22, bytes(environ), "", !isOverwritten)),
                    Reading.failed(Failure.UNTRUSTED, ""),
                    known(cgroup)
                            .map(path -> Reading.of(bytes("0::" + path + "\n")))
                            .orElseGet(() -> Reading.failed(Failure.OTHER, "why")),
                    namespaces == 0
                            ? Reading.failed(Failure.OTHER, "status has no NSpid")
                            : Reading.of(bytes(pid + "\t7".repeat(namespaces - 1))),
                    ProcessFacts.skipped(),
                    uidMap == null ? Reading.failed(Failure.DENIED, "") : Reading.of(bytes(uidMap + "\n")),
                    after);
        }

        private Reading<Bytes> stat(int pid, int parentPid, long at) {
            var addresses = Map.of(49, 7000 + at, 50, 7000 + at, 51, 7022 + at);
            var fields = new HashMap<>(Map.of(4, (long) parentPid, 6, session, 9, flags, 22, start));
            fields.putAll(addresses);
            return Reading.of(FactsMachine.stat(pid, state, fields));
        }
    }

    FactsMachine() {
        etc.put("passwd", "root:x:0:0:::\nalice:x:1003:1:::\nbob:x:1004:1:::\n");
        etc.put("subuid", "alice:100000:65536\n");
        follow("812 in a; apps 0:812:1542; gpus 0:1542 1:0; envs a:1003:alice:812; devices 0:a 1:");
    }

    FactsMachine follow(String text) {
        for (var step : text.replace("ID", "0123456789abcdef".repeat(4)).split("; ", -1)) {
            var words = new ArrayList<>(List.of(step.split(" ", -1)));
            follow(words.removeFirst(), words);
        }
        return this;
    }

    private void follow(String first, List<String> words) {
        var rest = String.join(" ", words);
        switch (first) {
            case "see" -> found.add(describe(see(true)));
            case "text" -> found.add(last().problems().getLast().detail());
            case "broken" -> {
                see(true);
                var policy = Plans.enforcingPolicy(Limits.NONE, KnownRules.ENV_DEVICES);
                var messages = policy.check(new Fleet(List.of(last()), false), Set.of()).violations().stream()
                        .map(Violation::message)
                        .toList();
                found.add(messages.isEmpty() ? "nothing" : String.join(", ", messages));
            }
            case "users" ->
                found.add(last().environments().stream()
                        .map(each -> each.eid() + " of " + each.undisputedUser().orElse("nobody"))
                        .collect(Collectors.joining(", ")));
            case "uids" ->
                found.add(last().environments().stream()
                        .map(each -> "%s %s %s"
                                .formatted(
                                        each.eid(),
                                        new TreeSet<>(each.ownership().uids()),
                                        each.ownership().areUidsKnown() ? "known" : "not all known"))
                        .collect(Collectors.joining(", ")));
            case "why-detached" -> {
                var immunity = last().environments().getFirst().ownership().immunity();
                found.add(immunity == null ? "null" : immunity.reason());
            }
            case "limit-of" ->
                found.add(last().details()
                        .accounts()
                        .match(words.getFirst(), Long.valueOf(words.getLast()))
                        .toString());
            case "why" -> found.add(Objects.requireNonNull(last().details().readOnlyReason()));
            case "asks" -> {
                var request = observer().request(Set.of(), false);
                found.add("accounts %s, first %s%s"
                        .formatted(request.accounts(), request.first(), request.deviceMemory() ? ", memory" : ""));
            }
            // A pid that is listed although its process has exited, and no environment.
            case "exited" -> follow("apps 0:900:9000; gpus 0:9000 1:0; envs; devices 0: 1:");
            case "exit" -> processes.remove(Integer.valueOf(rest));
            case "apps" -> apps = output(0, each(words, "GPU-%s, %s, %s\n"));
            case "apps-fail" -> apps = output(9, rest);
            case "no-gpus" -> {
                apps = output(6, "No devices were found\n");
                gpus = apps;
            }
            case "gpus" -> {
                var lines = new ArrayList<String>();
                words.forEach(word -> lines.add(lines.size() + ":" + word));
                gpus = output(0, each(lines, "%s, GPU-%s, %s\n"));
            }
            case "gpus-are-old" -> gpusAreCurrent = false;
            case "status" -> status = output(0, rest);
            case "status-fail" -> status = output(9, rest);
            case "envs" -> state.put("envs", json("envs", words, FactsMachine::env));
            case "devices" -> state.put("devices", json("devices", words, FactsMachine::device));
            case "write" -> state.put(words.removeFirst(), new StateFile.Present(bytes(String.join(" ", words))));
            case "remove" -> state.put(rest, new StateFile.Absent());
            case "earlier" -> earlier = directory(); // the first of both readings
            case "directory" -> directory = Integer.parseInt(rest);
            case "kernels" -> kernels = new Kernels(Set.copyOf(words), "");
            case "no-proc" -> isProcReadable = false;
            case "unsearched" -> kernels = new Kernels(Set.of(), rest);
            case "passwd" -> etc.put("passwd", each(words, "%s:x:%s:1:::\n"));
            case "unreadable" -> etc.remove(rest);
            case "exempt" -> exempt.add(rest);
            case "cgroup-root" -> cgroupRoot = rest;
            case "exempt-cgroup" -> exemptCgroups.add(rest);
            case "once-exempt-cgroup" -> earlierCgroups.add(rest);
            case "live-uids-unread" -> areLiveUidsRead = false;
            case "limited" -> limited.add(new ConfiguredUser(rest, "GENV_ENFORCER_MAX_MEMORY_FOR_USER", false));
            case "directory-of" -> {
                directoryState = "answers";
                words.forEach(word -> named.put(word.split(":", -1)[0], Long.valueOf(word.split(":", -1)[1])));
            }
            case "limited-group" -> groups.add(new ConfiguredGroup(rest, "GENV_ENFORCER_MAX_MEMORY_FOR_GROUP"));
            case "member-of" -> {
                directoryState = "answers";
                memberships.put(
                        words.removeFirst(), words.stream().map(Long::valueOf).toList());
            }
            case "is-in" ->
                found.add(last().details()
                        .accounts()
                        .isIn(words.getFirst(), words.get(1), Long.valueOf(words.getLast()))
                        .toString());
            case "asks-groups" -> {
                var request = observer().request(Set.of(), false);
                found.add("groups %s, users %s".formatted(request.groups(), request.members()));
            }
            case "directory-is" -> directoryState = rest;
            case "restart" -> {
                var known = observer().knownAccounts();
                observer = null;
                observer().restore(known);
            }
            case "hours" -> {
                now += Long.parseLong(rest) * NameService.HOUR;
                wall = wall.plus(Duration.ofHours(Long.parseLong(rest)));
            }
            case "clock" -> wall = wall.plus(Duration.ofHours(Long.parseLong(rest)));
            case "boot" -> boot = Integer.parseInt(rest);
            case "machine-id" -> machineId = rest;
            case "now" -> now = Long.parseLong(rest);
            case "namespace" -> namespace = rest;
            case "enforcer" ->
                enforcers = new EnforcerFacts(new EnforcerFacts.Other.OnMachine(Integer.parseInt(rest)), "");
            case "lease" -> enforcers = new EnforcerFacts(new EnforcerFacts.Other.Leased(3, 57), "");
            case "no-lock" -> enforcers = new EnforcerFacts(null, rest);
            case "login" -> advice = Advice.LOGIN;
            default -> change(processes.computeIfAbsent(Integer.valueOf(first), _ -> new Described()), words);
        }
    }

    private static void change(Described process, List<String> words) {
        for (var word = words.iterator(); word.hasNext(); ) {
            switch (word.next()) {
                case "uid" ->
                    process.uid = known(word.next()).map(Long::valueOf).orElse(null);
                case "in" -> process.names(word.next());
                case "outside" -> process.names("");
                case "unread" -> process.environ = null;
                case "overwritten" -> process.isOverwritten = true;
                case "start" -> process.start = Long.parseLong(word.next());
                case "state" -> process.state = word.next().charAt(0);
                case "kernel-thread" -> process.flags = 0x0020_0000;
                case "moving" -> process.isMoving = true; // it gets another parent while it is read
                case "parent" -> process.parent = Integer.parseInt(word.next());
                case "session" -> process.session = Long.parseLong(word.next());
                case "executed" -> process.environAt = Long.parseLong(word.next());
                case "executing" -> process.isExecuting = true; // its environ moves while it is read
                case "namespaces" ->
                    process.namespaces =
                            known(word.next()).map(Integer::valueOf).orElse(0);
                case "cgroup" -> process.cgroup = word.next();
                // Such as 0:1003:1,1:100000:65536
                case "uid-map" ->
                    process.uidMap = known(word.next())
                            .map(map -> map.replace(':', ' ').replace(",", "\n"))
                            .orElse(null);
                default -> throw new IllegalArgumentException(words.toString());
            }
        }
    }

    /** Returns a word; empty for a question mark, which stands for what cannot be read. */
    private static Optional<String> known(String word) {
        return Optional.of(word).filter(each -> !each.equals("?"));
    }

    /** Returns what was seen at each observation and told; if nothing was asked for, what is seen now. */
    List<String> found() {
        if (found.isEmpty()) {
            follow("see");
        }
        return found;
    }

    /** @param asksStatus whether nvidia-smi is asked what the driver measures on the devices */
    Snapshot see(boolean asksStatus) {
        asked = observer().request(Set.of(), false);
        var snapshot = observer().observe(facts(), Set.of(new ProcessId(812, 100)), asksStatus, wall.getEpochSecond());
        last = snapshot;
        return snapshot;
    }

    private Snapshot last() {
        return Objects.requireNonNull(last);
    }

    Observer observer() {
        if (observer == null) {
            var settings = new ObserverSettings(
                    "gpu-1",
                    "STATE",
                    List.of(),
                    exempt,
                    limited,
                    groups,
                    exemptCgroups,
                    earlierCgroups,
                    new Needs(true, true, true, advice),
                    false,
                    Memory.ofMebibytes(512),
                    Duration.ZERO);
            observer = new Observer(settings);
        }
        return observer;
    }

    private HostFacts facts() {
        var listed = apps.stdout()
                .text()
                .lines()
                .map(line -> line.replaceFirst(".*, (\\d+), .*", "$1"))
                .filter(pid -> pid.matches("\\d+"))
                .map(Integer::valueOf)
                .distinct()
                .toList();
        var running = processes.entrySet().stream()
                .map(entry -> new LiveProcess(entry.getKey(), areLiveUidsRead ? entry.getValue().uid : null))
                .toList();
        var bootId = boot == 0 ? "" : "%08d-0000-0000-0000-000000000000".formatted(boot);
        return new HostFacts(
                new MachineFacts(
                        machineId,
                        bootId,
                        "",
                        known(cgroupRoot).map(Reading::of).orElseGet(() -> Reading.failed(Failure.ABSENT, "why")),
                        now,
                        now),
                new AccessFacts(7, -1, namespace, "", true),
                new AccountFacts(
                        text("passwd"),
                        text("subuid"),
                        List.of(),
                        AccountFacts.NOT_ASKED,
                        asked.users().stream()
                                .map(user -> answer(named.get(user)))
                                .toList(),
                        asked.groups().stream()
                                .map(group -> answer(named.get(group)))
                                .toList(),
                        asked.members().stream()
                                .map(user -> answer(memberships.get(user)))
                                .toList()),
                ProtectedExecutable.BUILT_IN.stream()
                        .map(_ -> Reading.<ProgramFile>failed(Failure.ABSENT, ""))
                        .toList(),
                new GpuFacts(Reading.of(apps), Reading.of(gpus), gpusAreCurrent, Reading.of(status)),
                listed.stream().map(this::process).toList(),
                ancestors(listed),
                earlier,
                directory(),
                new LivenessFacts(isProcReadable ? Reading.of(running) : Reading.failed(Failure.OTHER, "why"), kernels),
                enforcers,
                List.of(new VerifiedProcess(812, process(812).before())));
    }

    private List<ProcessFacts> ancestors(List<Integer> listed) {
        return processes.keySet().stream()
                .filter(pid -> !listed.contains(pid))
                .map(this::process)
                .toList();
    }

    private <T> Reading<T> answer(@Nullable T found) {
        return switch (directoryState) {
            case "answers" -> found == null ? Reading.failed(Failure.ABSENT, "") : Reading.of(found);
            case "finds-nobody" -> Reading.failed(Failure.ABSENT, "");
            case "hangs" -> Reading.failed(Failure.TIMEOUT, "it hangs");
            case "container" -> Reading.failed(Failure.SKIPPED, "");
            default -> throw new IllegalArgumentException(directoryState);
        };
    }

    private StateFacts directory() {
        var files = List.of("envs", "devices").stream()
                .map(name -> state.getOrDefault(name, new StateFile.Absent()))
                .toList();
        var found =
                directory == 0 ? new Directory.Absent() : new Directory.Present(new FileId(1, directory), directory);
        return new StateFacts(found, LockFacts.NOT_ATTEMPTED, files.getFirst(), files.getLast());
    }

    /** Returns the processes as they are observed, whether nvidia-smi lists them or not. */
    Stream<ObservedProcess> observed() {
        return processes.keySet().stream()
                .map(pid -> ((ProcessIdentity.Present) ProcessIdentity.of(process(pid))).process());
    }

    private ProcessFacts process(int pid) {
        var process = processes.get(pid);
        return process == null ? ProcessFacts.unread(pid, Reading.failed(Failure.ABSENT, "")) : process.facts(pid);
    }

    private Reading<TextFile> text(String name) {
        var content = etc.get(name);
        return content == null
                ? Reading.failed(Failure.OTHER, "Input/output error")
                : Reading.of(new TextFile(content, bytes(content)));
    }

    private static ToolOutput output(int exitCode, String text) {
        return new ToolOutput(exitCode, bytes(text), Bytes.EMPTY);
    }

    private static Bytes bytes(String text) {
        return Bytes.of(text.getBytes(UTF_8));
    }

    /** Formats the parts of each word, which colons separate. */
    private static String each(List<String> words, String form) {
        return words.stream()
                .map(word -> form.formatted((Object[]) word.split(":", -1)))
                .collect(Collectors.joining());
    }

    private static StateFile json(String name, List<String> words, UnaryOperator<String> entry) {
        return new StateFile.Present(
                bytes(words.stream().map(entry).collect(Collectors.joining(", ", "{\"%s\": [".formatted(name), "]}"))));
    }

    private static String env(String word) {
        var parts = word.split(":", -1);
        var kernels = parts.length < 5 ? "" : '"' + parts[4] + '"';
        return "{\"eid\": \"%s\", \"uid\": %s, \"username\": \"%s\", \"creation\": \"\", \"config\": {}, \"pids\": [%s], \"kernel_ids\": [%s]}"
                .formatted(parts[0], parts[1], parts[2], parts[3], kernels);
    }

    private static String device(String word) {
        var parts = word.split(":", -1);
        var attachments = Stream.of(parts[1].split(","))
                .filter(eid -> !eid.isEmpty())
                .map("{\"eid\": \"%s\", \"gpu_memory\": null, \"time\": null}"::formatted)
                .collect(Collectors.joining(", "));
        return "{\"index\": %s, \"total_memory\": \"1mi\", \"attachments\": [%s]}".formatted(parts[0], attachments);
    }

    /** Returns the content of {@code /proc/PID/stat}, in which a field that is not given is 1. */
    static Bytes stat(int pid, char state, Map<Integer, Long> fields) {
        var all = new HashMap<>(Map.of(48, 6000L, 49, 7000L, 50, 7000L, 51, 7022L));
        all.putAll(fields);
        return bytes(IntStream.rangeClosed(4, 52)
                .mapToObj(field -> " " + all.getOrDefault(field, 1L))
                .collect(Collectors.joining("", "%d (python) %s".formatted(pid, state), "")));
    }

    private static String describe(Snapshot seen) {
        var listed = seen.processes().stream().map(FactsMachine::describe);
        var memory = new TreeMap<>(seen.unexplained().memory())
                .entrySet().stream()
                        .map(entry -> "%d MiB on %d".formatted(entry.getValue().mebibytes(), entry.getKey()));
        var unknown = seen.unexplained().unknown().stream().sorted().map("unknown memory on %d"::formatted);
        var environments = seen.environments().stream()
                .map(environment -> (environment.ownership().isDisputed() ? "disputed " : "env ") + environment.eid());
        var attachments = seen.devices().stream()
                .filter(device -> !device.attachments().isEmpty())
                .map(device ->
                        device.index() + ":" + device.attachments().getFirst().eid());
        var details = seen.details();
        var other = Stream.of(
                        details.ended().isEmpty() ? "" : "ended",
                        details.machine() == null ? "unknown machine" : "",
                        Boolean.TRUE.equals(details.shown().hasGenv()) ? "" : "no genv",
                        details.readOnlyReason() == null ? "" : "acts not")
                .filter(word -> !word.isEmpty());
        var missing = seen.missing().stream().sorted().map(part -> "without " + part);
        var problems = seen.problems().stream().map(problem -> problem.code().toString());
        var text = Stream.of(listed, memory, unknown, environments, attachments, other, missing, problems)
                .flatMap(Function.identity())
                .collect(Collectors.joining(", "))
                .replace("812 of alice in a, env a, 0:a", "usual");
        return text.isEmpty() ? "nothing" : text;
    }

    private static String describe(GpuProcess process) {
        var membership = switch (process.membership()) {
            case Membership.InEnvironment(var eid) -> "in " + eid;
            case Membership.Outside _ -> "outside";
            case Membership.Unknown _ -> "unknown";
        };
        var by = process.membershipBy();
        var user = process.user();
        var immunity = process.immunity();
        return "%d of %s %s%s%s%s"
                .formatted(
                        process.pid(),
                        user == null ? process.uid() : user.name() + (user.by() == Source.RECORDED ? "?" : ""),
                        membership,
                        by == MembershipSource.ENVIRON || by == MembershipSource.UNKNOWN ? "" : " by " + by,
                        immunity == null ? "" : " " + immunity.kind(),
                        process.notExcused().equals(process.devices())
                                ? ""
                                : " excused on " + new TreeSet<>(process.excused()));
    }
}
