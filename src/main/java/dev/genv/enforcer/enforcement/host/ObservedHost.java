package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.Machine.SignalRequest;
import dev.genv.enforcer.host.Machine.SignalResult;
import dev.genv.enforcer.host.Machine.SwapResult;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.ConfiguredUsers.ConfiguredUser;
import dev.genv.enforcer.observation.GroupReader.ConfiguredGroup;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.PolicyValues.Sourced;
import dev.genv.enforcer.policy.Rules;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A host: the hands on its machine, and the observer that interprets their facts. */
public final class ObservedHost implements Host {
    /** A file that others change between its reading and its replacement is read again, so many times in all. */
    private static final int MAX_ATTEMPTS = 5;

    private static final String ABANDONED = "abandoned: the execution took too long";
    private static final String NOT_OBSERVED = "this host was not observed since its connection was lost";
    private static final Result DETACHED = Result.of(Outcome.DETACHED);
    private static final Result ALREADY_DETACHED = Result.of(Outcome.ALREADY_DETACHED);
    private static final Result REPEATED_CHANGES = Result.failed(
            "devices.json or genv.lock is changed repeatedly while genv's lock is held: find out who writes there"
                    + " without it");

    /** Without the policy. */
    private final ObserverSettings base;

    private final Machine machine;
    private final Observer observer;
    private final Ticker ticker;
    /** When it was last asked what the driver measures on the devices; null if it never was. */
    private @Nullable Long statusAskedAt;

    private @Nullable String readOnlyReason = NOT_OBSERVED;
    /** As the last observation read it. */
    private StateFile devices = new StateFile.Absent();

    private ObserverSettings settings;
    private PolicyValues policy = PolicyValues.NONE;

    private volatile Remembered remembered = Remembered.NOTHING;

    public ObservedHost(ObserverSettings settings, Machine machine) {
        this(settings, machine, Ticker.ofSystem());
    }

    ObservedHost(ObserverSettings settings, Machine machine, Ticker ticker) {
        base = settings;
        this.settings = settings;
        this.ticker = ticker;
        this.machine = machine;
        observer = new Observer(settings);
    }

    @Override
    public String name() {
        return settings.host();
    }

    @Override
    public void apply(PolicyValues now) {
        if (now.equals(policy)) {
            return;
        }
        policy = now;
        var users = now.all().entrySet().stream()
                .flatMap(each -> user(each.getKey(), each.getValue()).stream())
                .toList();
        var groups = now.all().entrySet().stream()
                .filter(each ->
                        each.getKey().kind() == Kind.GROUP || each.getKey().kind() == Kind.GROUP_EXCEPTION)
                .map(each -> new ConfiguredGroup(
                        each.getKey().name(), each.getValue().origin()))
                .toList();
        settings = base.with(users, groups, cgroups(now, false), cgroups(now, true), now.isOn(Rules.IDLE_PROCESSES));
        observer.apply(settings);
    }

    static Optional<ConfiguredUser> user(PolicyKey key, Sourced its) {
        return switch (key.kind()) {
            case USER, USER_EXCEPTION -> Optional.of(new ConfiguredUser(key.name(), its.origin(), false));
            case EXEMPT_USER -> Optional.of(new ConfiguredUser(key.name(), its.origin(), true, its.isStored()));
            default -> Optional.empty();
        };
    }

    static List<String> cgroups(PolicyValues values, boolean areEarlier) {
        return values.all().entrySet().stream()
                .filter(each -> each.getKey().kind() == Kind.EXEMPT_CGROUP
                        && each.getValue().isStored() == areEarlier)
                .map(each -> each.getKey().name())
                .toList();
    }

    @Override
    public void restore(Remembered earlier) {
        observer.restore(earlier.accounts());
        remembered = earlier;
    }

    @Override
    public Remembered remembered() {
        return remembered;
    }

    @Override
    public Snapshot observe(Set<ProcessId> verified) throws UnreachableException, InterruptedException {
        readOnlyReason = NOT_OBSERVED;
        var begun = ticker.mark();
        var asksStatus = statusAskedAt == null
                || begun - statusAskedAt >= settings.statusAge().toNanos();
        var facts = machine.observe(observer.request(verified, asksStatus));
        var snapshot =
                observer.observe(facts, verified, asksStatus, ticker.now().getEpochSecond());
        statusAskedAt = asksStatus ? Long.valueOf(begun) : statusAskedAt;
        devices = facts.state().devices();
        readOnlyReason = snapshot.details().readOnlyReason();
        remembered = new Remembered(observer.knownAccounts());
        return snapshot;
    }

    @Override
    public void execute(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        var reason = readOnlyReason;
        if (reason != null) {
            actions.forEach(action -> done.accept(action, Result.failed(reason)));
            return;
        }
        var terminations = new LinkedHashMap<ProcessId, Action.Terminate>();
        var detachments = new ArrayList<Action.Detach>();
        for (var action : actions) {
            switch (action) {
                case Action.Detach detach -> detachments.add(detach);
                case Action.Terminate terminate ->
                    terminations.put(terminate.process().id(), terminate);
            }
        }
        try {
            if (!terminations.isEmpty()) {
                var signals = terminations.values().stream()
                        .map(each -> new SignalRequest(each.process().id(), each.signal() == Signal.KILL))
                        .toList();
                machine.signal(
                        signals,
                        (signal, result) -> done.accept(
                                Objects.requireNonNull(terminations.remove(signal.process())), result(result)));
            }
        } catch (InterruptedException e) {
            Stream.concat(terminations.values().stream(), detachments.stream())
                    .forEach(each -> done.accept(each, Result.failed(ABANDONED)));
            throw e;
        }
        try {
            var result = detach(detachments);
            detachments.forEach(each -> done.accept(each, result.apply(attachment(each))));
        } catch (InterruptedException e) {
            detachments.forEach(each -> done.accept(each, Result.lost(ABANDONED)));
            throw e;
        }
    }

    private static Result result(SignalResult signal) {
        return switch (signal.kind()) {
            case SENT -> Result.of(Outcome.SIGNALLED);
            case GONE -> Result.of(Outcome.ALREADY_GONE);
            case DENIED -> new Result(Outcome.DENIED, "needs the capability CAP_KILL");
            case WITHOUT_DEVICE ->
                Result.failed(
                        "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not terminated");
            case UNEXAMINED ->
                Result.failed("it is listed, but its open files cannot be examined, so it is not terminated: "
                        + signal.reason());
            case NOT_SENT -> Result.failed(signal.reason());
            case PERHAPS -> Result.lost(signal.reason());
        };
    }

    /** Removes the attachments from the file as it was read, all in one change, and again if others have changed it meanwhile. */
    private Function<AttachmentId, Result> detach(List<Action.Detach> actions)
            throws UnreachableException, InterruptedException {
        if (actions.isEmpty()) {
            return always(ALREADY_DETACHED);
        }
        var wanted = actions.stream().map(ObservedHost::attachment).collect(Collectors.toUnmodifiableSet());
        var file = devices;
        for (var attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
            if (!(file instanceof StateFile.Present(var content))) {
                return always(notRead(file));
            }
            try {
                var removal = DevicesFile.remove(content.array(), wanted);
                if (removal.removed().isEmpty()) {
                    return always(ALREADY_DETACHED);
                }
                var changed = removal.text().getBytes(StandardCharsets.UTF_8);
                switch (machine.swapDevices(Sha256.hex(content.array()), changed)) {
                    case SwapResult.Done _ -> {
                        return attachment -> removal.removed().contains(attachment) ? DETACHED : ALREADY_DETACHED;
                    }
                    case SwapResult.Found(var other) -> file = other;
                    case SwapResult.Disturbed _ -> {}
                    case SwapResult.Failed failed -> {
                        return always(result(failed));
                    }
                }
            } catch (UnreadableException e) {
                return always(Result.failed("devices.json " + e.getMessage()));
            }
        }
        return always(REPEATED_CHANGES);
    }

    private static AttachmentId attachment(Action.Detach action) {
        return new AttachmentId(action.device(), action.attachment());
    }

    private static Function<AttachmentId, Result> always(Result result) {
        return _ -> result;
    }

    private static Result notRead(StateFile file) {
        return file instanceof StateFile.Unreadable unreadable
                ? Result.failed("devices.json: " + StateParser.clause(unreadable))
                : ALREADY_DETACHED;
    }

    private static Result failed(@Nullable Problem why, String otherwise) {
        return Result.failed(why == null ? otherwise : why.detail());
    }

    private Result result(SwapResult.Failed failed) {
        return switch (failed) {
            case SwapResult.Locked(var lock) -> failed(StateParser.lockProblem(lock), "genv.lock is not available");
            case SwapResult.Inaccessible(var directory) ->
                directory instanceof Directory.Absent
                        ? ALREADY_DETACHED
                        : failed(
                                StateParser.directoryProblem(settings.stateDirectory(), directory),
                                "the state directory was not accessed");
            case SwapResult.NotWritten(var reason) -> Result.failed(reason);
            case SwapResult.Perhaps(var reason) -> Result.lost(reason);
        };
    }
}
