package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.linux.ProcStat.Relations;
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
import org.jspecify.annotations.Nullable;

/**
 * The processes of a machine. At first, process 100 of user 1003 is a shell in environment a that leads the session 100, and process 812,
 * its child in that session, has overwritten its environ. Each process was started at the tick of its pid.
 *
 * <p>A pid and what follows adds a process or changes one. {@code decide} observes the job, and {@code anew} does so for the first time.
 */
final class Relatives {
    private static final String OVERWRITTEN = "it has overwritten its environ, and ";
    static final int JOB = 812;

    private final Map<Integer, ObservedProcess> processes = new LinkedHashMap<>();
    private final List<String> found = new ArrayList<>();
    private MembershipResolver resolver = new MembershipResolver(false);

    Relatives() {
        follow("100 in a; 812 parent 100 session 100");
    }

    void follow(String text) {
        for (var step : text.split("; ", -1)) {
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

    private void follow(Queue<String> words) {
        var first = words.remove();
        switch (first) {
            case "without" -> processes.remove(number(words));
            // Children of the shell, each the parent of the next one and the last one that of the job.
            case "chain" -> {
                var length = number(words);
                for (var pid = 201; pid < 200 + length; pid++) {
                    follow("%d parent %d session 100".formatted(pid, pid == 201 ? 100 : pid - 1));
                }
                follow("812 parent " + (length == 1 ? 100 : 199 + length));
            }
            case "strict" -> resolver = new MembershipResolver(true);
            case "decide" -> found.add(describe(decide(JOB)));
            case "anew" -> {
                resolver = new MembershipResolver(false);
                follow("decide");
            }
            case "retain" ->
                resolver.retain(
                        words.isEmpty() ? Set.of() : Set.of(known(number(words)).id()));
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

    /** Observes a process. */
    Decision decide(int pid) {
        var process = known(pid);
        return resolver.decide(
                process, Ancestors.of(processes.values().stream()).of(process));
    }

    private ObservedProcess known(int pid) {
        return Objects.requireNonNull(processes.get(pid));
    }

    private void change(int pid, Queue<String> words) {
        var former = processes.get(pid);
        var parent = 1;
        var session = pid;
        if (former != null && former.relations() != null) {
            parent = former.relations().parent();
            session = former.relations().session();
        }
        var isMoving = false;
        var start = former == null ? pid : former.id().startTime();
        Long uid = former == null ? Long.valueOf(1003) : former.uid();
        var content =
                former == null ? new Content.Overwritten() : former.environ().content();
        var addresses = former == null ? addresses(0) : former.environ().addresses();
        Integer namespaces = former == null ? Integer.valueOf(1) : former.namespaces();
        while (!words.isEmpty()) {
            var word = words.remove();
            switch (word) {
                case "parent" -> parent = number(words);
                case "session" -> session = number(words);
                case "moving" -> isMoving = true; // it gets another parent while it is read
                case "start" -> start = number(words);
                case "uid" -> uid = Long.valueOf(words.remove());
                case "uid-unknown" -> uid = null;
                case "in" -> content = new Content.Intact(new Membership.InEnvironment(words.remove()));
                case "intact" -> content = new Content.Intact(new Membership.Outside());
                case "overwritten" -> content = new Content.Overwritten();
                case "unavailable" ->
                    content = new Content.Unavailable(new Membership.Unknown("its environ does not answer"));
                case "executed" -> addresses = addresses(number(words));
                case "executing" -> addresses = null; // it moved its environ while it was read
                case "namespaces" -> namespaces = Integer.valueOf(words.remove());
                case "namespaces-unknown" -> namespaces = null;
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
                        isMoving ? null : new Relations(parent, session),
                        false,
                        namespaces,
                        facts(pid, uid)));
    }

    private static ProcessFacts facts(int pid, @Nullable Long uid) {
        return new ProcessFacts(
                pid,
                ProcessFacts.skipped(),
                uid == null ? ProcessFacts.skipped() : Reading.of(uid),
                ProcessFacts.skipped(),
                ProcessFacts.skipped(),
                ProcessFacts.skipped());
    }

    private static Addresses addresses(int number) {
        return new Addresses(6000, 7000 + number, 7000 + number, 8000);
    }
}
