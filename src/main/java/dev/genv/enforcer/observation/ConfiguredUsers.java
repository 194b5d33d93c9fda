package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.NameService.Found;
import dev.genv.enforcer.observation.NameService.Pause;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The users whom settings name, on one machine. Its name service is asked for them in a call of their own, so that names that users record
 * cannot delay it. A directory that is out of reach looks like one without the account, so "not found" is never taken for "no such user":
 * a user who was found stays found, and one who never was may be anybody. Times are in clock ticks since boot.
 */
public final class ConfiguredUsers {
    /** How many are asked for in one observation, those first that were asked longest ago. */
    private static final int MOST_ASKED = 32;

    /** After failures the pause is at most eight minutes, because actions are held meanwhile. */
    private static final int MOST_DOUBLINGS = 3;

    private static final int MOST_KEPT = 10_000;

    private static final Pattern USER =
            Pattern.compile("\\+[0-9]{1,10}|[^-+,:/*=@\\s\\p{Cntrl}][^,:/*=\\s\\p{Cntrl}]*");

    private List<ConfiguredUser> configured;
    private final Map<String, Answer> answers = new LinkedHashMap<>();
    private final Pause pause = new Pause(MOST_DOUBLINGS);
    private List<String> asked = List.of();
    private long now;

    /**
     * A user in a setting.
     *
     * @param setting the variable
     * @param isExempt whether the setting protects the user; otherwise it limits what the user may do
     * @param isEarlier whether only the policy before a change has the user
     */
    public record ConfiguredUser(String user, String setting, boolean isExempt, boolean isEarlier) {
        public ConfiguredUser(String user, String setting, boolean isExempt) {
            this(user, setting, isExempt, false);
        }
    }

    /**
     * What the name service answered.
     *
     * @param found the last account that it found; null if it never found one
     * @param isAsked whether the machine has a name service that can be asked; null before the first answer
     */
    private record Answer(
            long askedAt, @Nullable Found found, @Nullable Boolean isAsked) {}

    ConfiguredUsers(Collection<ConfiguredUser> configured) {
        this.configured = List.copyOf(configured);
    }

    /** Takes over the users of other settings. What is known of the users of earlier ones is kept, up to a limit. */
    void configure(Collection<ConfiguredUser> others) {
        configured = List.copyOf(others);
        if (answers.size() > MOST_KEPT) {
            answers.keySet()
                    .retainAll(configured.stream().map(ConfiguredUser::user).collect(Collectors.toSet()));
        }
    }

    /** Whether a text can be a user in a setting: a name, also with a domain, or a uid, which may have a plus sign. */
    public static boolean isUser(String text) {
        return USER.matcher(text).matches()
                && (!text.matches("\\+?[0-9]+") || Accounts.numberIn(text).isPresent());
    }

    /**
     * Takes over the answers to what was asked. Reports a failure until there is an answer again.
     *
     * @param local the accounts of passwd(5); empty if they were never read
     */
    void learn(List<Reading<Long>> readings, Optional<Accounts> local, long ticks, long at, Findings findings) {
        if (readings.size() != asked.size()) {
            throw new IllegalArgumentException("not every user is in it");
        }
        if (ticks < now) { // the host was started again
            answers.replaceAll((_, answer) -> new Answer(ticks - NameService.HOUR, answer.found, answer.isAsked));
            pause.restart(ticks);
        }
        now = ticks;
        var failure = Optional.<String>empty();
        for (var i = 0; i < asked.size(); i++) {
            var user = asked.get(i);
            var known = answers.get(user);
            var found = known == null ? null : known.found;
            switch (readings.get(i)) {
                case Reading.Value<Long>(var uid) ->
                    answers.put(
                            user,
                            new Answer(now, isFromDirectory(user, uid, local) ? new Found(uid, at) : found, true));
                case Reading.Failed<Long>(var kind, var _) when kind == Failure.NO_TIME -> {}
                case Reading.Failed<Long>(var kind, var reason) -> {
                    answers.put(user, new Answer(now, found, kind != Failure.SKIPPED));
                    if (kind != Failure.ABSENT && kind != Failure.SKIPPED) {
                        failure = Optional.of(reason);
                    }
                }
            }
        }
        if (!asked.isEmpty()) {
            pause.remember(failure, now);
        }
        asked = List.of();
        pause.report(findings);
    }

    /**
     * A number is asked for as a name, and then as a uid. If the file of the accounts has this uid, it answers also while a directory that
     * knows the name is out of reach.
     */
    private static boolean isFromDirectory(String user, long uid, Optional<Accounts> local) {
        return !Accounts.isNumber(user, uid)
                || local.filter(file -> file.namesOf(uid).isEmpty()).isPresent();
    }

    /** Returns whom to ask for now: those who are not found, and once an hour the others. The file of the accounts answers first. */
    List<String> next(Accounts local) {
        asked = pause.isOver(now)
                ? configured.stream()
                        .map(ConfiguredUser::user)
                        .distinct()
                        .filter(user -> NameService.canBeAsked(user)
                                && isDue(user)
                                && local.uidOf(user).isEmpty())
                        .sorted(Comparator.comparingLong(this::askedAt))
                        .limit(MOST_ASKED)
                        .toList()
                : List.of();
        return asked;
    }

    private long askedAt(String user) {
        var answer = answers.get(user);
        return answer == null ? Long.MIN_VALUE : answer.askedAt;
    }

    private boolean isDue(String user) {
        var answer = answers.get(user);
        return answer == null || answer.found == null || now - answer.askedAt >= NameService.HOUR;
    }

    /** Returns these accounts with the users of the settings, and reports those who are not found. */
    Accounts resolve(Accounts accounts, Findings findings) {
        var uids = new HashMap<String, Optional<Long>>();
        for (var each : configured) {
            var user = each.user;
            var uid = uids.computeIfAbsent(user, _ -> find(user, accounts));
            var answer = answers.get(user);
            if (uid.isEmpty()) {
                if (each.isExempt) {
                    findings.miss(SnapshotPart.EXEMPT_USERS);
                }
                findings.add(
                        ProblemCode.SETTING_USER_UNKNOWN,
                        "user %s of %s is the name of no account that is known of this host, so %s: give the uid instead, with a plus sign such as +1003"
                                .formatted(
                                        user,
                                        each.setting,
                                        each.isExempt
                                                ? "nothing is done to processes and environments that may be this user's"
                                                : "its rule does nothing to users who may be this one"));
            } else if (accounts.namesOf(uid.get()).isEmpty() && (answer == null || answer.found == null)) {
                findings.add(
                        ProblemCode.SETTING_USER_UNKNOWN,
                        "user %s of %s counts as a uid, of which no account is known on this host"
                                .formatted(user, each.setting));
            }
        }
        return accounts.withConfigured(uids);
    }

    /** A number may be the name of an account that is not found. With a plus sign, or if no name service can be asked, it is a uid. */
    private Optional<Long> find(String user, Accounts accounts) {
        var named = accounts.uidOf(user);
        var answer = answers.get(user);
        var found = answer == null ? null : answer.found;
        if (named.isPresent() || found != null) {
            return named.isPresent() || found == null ? named : Optional.of(found.uid());
        }
        var isUid = user.startsWith("+") || (answer != null && Boolean.FALSE.equals(answer.isAsked));
        return isUid ? Accounts.numberIn(user) : Optional.empty();
    }

    /** Returns who was found, to continue in another run of the service. */
    Map<String, Found> found() {
        var found = new HashMap<String, Found>();
        answers.forEach((user, answer) -> {
            if (answer.found != null) {
                found.put(user, answer.found);
            }
        });
        return found;
    }

    /** Continues with what was found before; it is asked for again. */
    void restore(Map<String, Found> found) {
        found.forEach((user, its) -> answers.put(user, new Answer(now - NameService.HOUR, its, null)));
    }

    /**
     * The exempt users of one machine, by its accounts.
     *
     * @param earlier those whom only the policy before a change exempts
     */
    public record ExemptUsers(List<String> users, List<String> earlier, Accounts accounts) {
        public static final ExemptUsers NONE = new ExemptUsers(List.of(), Accounts.NONE);

        public ExemptUsers {
            users = List.copyOf(users);
            earlier = List.copyOf(earlier);
        }

        public ExemptUsers(List<String> users, Accounts accounts) {
            this(users, List.of(), accounts);
        }

        /** Returns why a process of this real uid is not terminated; null if it may be. */
        @Nullable
        Immunity immunity(@Nullable Long uid) {
            var present = immunity(users, uid, Immunity.Kind.EXEMPT, "is exempt");
            return present == null
                    ? immunity(earlier, uid, Immunity.Kind.EXEMPT_BEFORE, "was exempt until the policy changed")
                    : present;
        }

        private @Nullable Immunity immunity(List<String> users, @Nullable Long uid, Immunity.Kind kind, String why) {
            Immunity perhaps = null;
            for (var user : users) {
                switch (accounts.match(user, uid)) {
                    case YES -> {
                        return new Immunity(kind, "it belongs to uid %d, which %s".formatted(uid, why));
                    }
                    case UNKNOWN ->
                        perhaps = new Immunity(
                                Immunity.Kind.PERHAPS_EXEMPT,
                                "it is unknown whether it belongs to user %s, who %s".formatted(user, why));
                    case NO -> {}
                }
            }
            return perhaps;
        }

        /** Returns why an environment with these live processes is never detached; null if it may be. */
        @Nullable
        Immunity immunity(Collection<LiveProcess> processes) {
            var all = new ArrayList<Immunity>();
            for (var process : processes) {
                var its = immunity(process.uid());
                if (its == null) {
                    return null;
                }
                all.add(its);
            }
            return all.stream()
                    .filter(its -> its.kind() == Immunity.Kind.PERHAPS_EXEMPT)
                    .findFirst()
                    .map(_ -> new Immunity(
                            Immunity.Kind.PERHAPS_EXEMPT,
                            "it is unknown whether its live processes belong to exempt users"))
                    .or(() -> all.stream()
                            .filter(its -> its.kind() == Immunity.Kind.EXEMPT_BEFORE)
                            .findFirst())
                    .orElse(
                            all.isEmpty()
                                    ? null
                                    : new Immunity(
                                            Immunity.Kind.EXEMPT, "all its live processes belong to exempt users"));
        }
    }
}
