package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.linux.ProcStat.Relations;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.MembershipResolver.Decision;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a machine and its environments. At first, process 100 of user 1003 is a shell without an id that leads the session and
 * the process group 100, and process 812, its child, has overwritten its environ. Each process was started at the tick of its pid. The
 * service observed before any of the processes was started.
 *
 * <p>A pid and what follows adds a process or changes one. {@code list ENVIRONMENT UID PIDS} adds an environment. {@code at} and
 * {@code environments-at} observe without a decision, {@code decide} observes the job, and {@code anew} does so for the first time.
 */
final class Relatives {
    private static final String MACHINE = "machine";
    private static final String ID = "0123456789abcdef".repeat(4);
    private static final String OVERWRITTEN = "it has overwritten its environ, and ";
    static final int JOB = 812;
    private static final long ALICE = 1003;

    private final Map<Integer, ObservedProcess> processes = new LinkedHashMap<>();
    private final List<Environment> environments = new ArrayList<>();
    private final List<String> found = new ArrayList<>();
    private MembershipResolver resolver = resolver(false);
    private RelatedOmission omission = RelatedOmission.NONE;
    private boolean environmentsKnown = true;

    Relatives() {
        follow("100 intact; 812 parent 100 session 100");
    }

    void follow(String text) {
        var steps = text.replace("CONTAINER", "/system.slice/docker-ID.scope")
                .replace("SCOPE", "/user.slice/user-1003.slice/session-3.scope")
                .replace("ID", ID)
                .split("; ", -1);
        for (var step : steps) {
            follow(new ArrayDeque<>(List.of(step.split(" ", -1))));
        }
    }

    /** Returns the decisions; if none was asked for, that on the job. */
    List<String> found() {
        if (found.isEmpty()) {
            follow("decide");
        }
        return found;
    }

    Set<ProcessId> settled() {
        return Set.copyOf(resolver.settled());
    }

    private void follow(Queue<String> words) {
        var first = words.remove();
        switch (first) {
            case "without" -> processes.remove(number(words));
            case "incomplete" ->
                omission = words.isEmpty()
                        ? RelatedOmission.OF_ANY_USER
                        : new RelatedOmission(false, Set.of((long) number(words)));
            case "list" -> {
                var eid = words.remove();
                list(eid, number(words), words.stream().map(Integer::valueOf).toList(), null);
            }
            case "list-disputed" -> list(words.remove(), ALICE, List.of(number(words)), "of two users");
            case "list-many" -> {
                list(
                        "b",
                        1004,
                        IntStream.rangeClosed(10_000, 10_000 + Listings.MAX_FORMER)
                                .boxed()
                                .toList(),
                        null);
                follow("environments-at 50; unlist; environments-at 5000");
            }
            case "unlist" -> environments.clear();
            case "environments-unknown" -> environmentsKnown = false;
            case "environments-at" ->
                resolver.begin(
                        MACHINE, RelatedProcesses.of(List.of(), RelatedOmission.NONE), environments, number(words));
            case "at" -> resolver.begin(MACHINE, related(), environments, number(words));
            case "strict" -> resolver = resolver(true);
            case "decide" -> found.add(describe(decide(words.isEmpty() ? 5000 : number(words), JOB)));
            case "anew" -> found.add(describe(decide(resolver(false), 5000, JOB)));
            case "retain" ->
                resolver.retain(
                        words.isEmpty() ? Set.of() : Set.of(known(number(words)).id()));
            case "settled" ->
                found.add("settled " + settled().stream().map(ProcessId::pid).toList());
            // A job that leads a session of its own, and a process of environment a in the same cgroup.
            case "orphan" -> {
                var cgroup = words.remove();
                follow("without 100; 812 parent 1 session 812 cgroup %1$s; 901 cgroup %1$s in a".formatted(cgroup));
            }
            default -> change(Integer.parseInt(first), words);
        }
    }

    private static int number(Queue<String> words) {
        return Integer.parseInt(words.remove());
    }

    private static String describe(Decision decision) {
        return switch (decision.membership()) {
            case Membership.InEnvironment(var eid) -> "in " + eid + " by " + decision.by();
            case Membership.Outside _ -> "outside by " + decision.by();
            case Membership.Unknown unknown -> "unknown: " + unknown.reason().replace(OVERWRITTEN, "");
        };
    }

    /** Observes a process after these ticks. */
    Decision decide(long ticks, int pid) {
        return decide(resolver, ticks, pid);
    }

    private Decision decide(MembershipResolver by, long ticks, int pid) {
        return by.begin(MACHINE, related(), environmentsKnown ? environments : null, ticks)
                .decide(known(pid));
    }

    private RelatedProcesses related() {
        return RelatedProcesses.of(processes.values(), omission);
    }

    private static MembershipResolver resolver(boolean isOverwrittenOutside) {
        var resolver = new MembershipResolver(isOverwrittenOutside);
        resolver.begin(MACHINE, RelatedProcesses.of(List.of(), RelatedOmission.NONE), List.of(), 1);
        return resolver;
    }

    private ObservedProcess known(int pid) {
        return Objects.requireNonNull(processes.get(pid));
    }

    private void list(String eid, long uid, List<Integer> pids, @Nullable String dispute) {
        environments.add(new Environment(
                eid,
                uid,
                "alice",
                "",
                new Environment.Config(null, null, null),
                pids,
                List.of(),
                new Ownership(dispute, false, Set.of())));
    }

    private void change(int pid, Queue<String> words) {
        var former = processes.get(pid);
        var relations = former == null ? new Relations(1, pid, pid) : Objects.requireNonNull(former.relations());
        var parent = relations.parent();
        var group = relations.group();
        var session = relations.session();
        var start = former == null ? pid : former.id().startTime();
        var uid = former == null ? ALICE : Objects.requireNonNull(former.uid());
        var content =
                former == null ? new Content.Overwritten() : former.environ().content();
        var addresses = former == null ? addresses(0) : former.environ().addresses();
        var cgroup = former == null ? Cgroup.UNKNOWN : former.cgroup();
        var namespaces = former == null ? 1 : Objects.requireNonNull(former.namespaces());
        var isFirst = former != null && former.firstOfNamespace();
        while (!words.isEmpty()) {
            var word = words.remove();
            switch (word) {
                case "parent" -> parent = number(words);
                case "session" -> session = number(words);
                case "group" -> group = number(words);
                case "start" -> start = number(words);
                case "uid" -> uid = number(words);
                case "in" -> content = new Content.Intact(new Membership.InEnvironment(words.remove()));
                case "intact" -> content = new Content.Intact(new Membership.Outside());
                case "overwritten" -> content = new Content.Overwritten();
                case "unavailable" ->
                    content = new Content.Unavailable(new Membership.Unknown("its environ does not answer"));
                case "executed" -> addresses = addresses(number(words));
                case "cgroup" -> cgroup = new Cgroup(words.remove());
                case "container" -> {
                    namespaces = 2;
                    isFirst = false;
                }
                case "first" -> isFirst = true;
                default -> throw new IllegalArgumentException(word);
            }
        }
        processes.put(
                pid,
                new ObservedProcess(
                        new ProcessId(pid, start),
                        uid,
                        "python",
                        new ProgramEnviron(content, addresses),
                        new Relations(parent, group, session),
                        false,
                        cgroup,
                        namespaces,
                        isFirst,
                        new ProcessFacts(
                                pid,
                                ProcessFacts.skipped(),
                                Reading.of(uid),
                                ProcessFacts.skipped(),
                                ProcessFacts.skipped(),
                                ProcessFacts.skipped())));
    }

    private static Addresses addresses(int number) {
        return new Addresses(6000, 7000 + number, 7000 + number, 8000);
    }
}
