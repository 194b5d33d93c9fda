package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.policy.plan.Action;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A process that is to be ended on a host, if it still is who it was. */
final class Termination {
    static final Result OTHER = Result.failed("its identity has changed since the rules were checked");

    private final Action.Terminate action;
    private final Protection protection;
    /** What its environment must say there, in the form of {@link EnvironReading#records}. */
    private String records;

    /** Its real uid, as it was last observed. */
    private @Nullable Long uid;

    /** Whether its real uid may be any but an exempt one: it was another one too often. */
    private boolean ofAnyUid;

    Termination(Action.Terminate action, Protection protection, String records) {
        this.action = action;
        this.protection = protection;
        this.records = records;
        uid = action.process().uid();
    }

    /** Nothing where it was not seen well enough for that, and why. */
    static Optional<Result> refused(Action.Terminate action, ObservedMachine seen) {
        var process = action.process();
        if (process.pid() <= 1) {
            return Optional.of(new Result(Outcome.SKIPPED_PROTECTED, "this process must not be terminated"));
        }
        var immunity = process.immunity();
        if (immunity != null) {
            return Optional.of(new Result(
                    switch (immunity.kind()) {
                        case PROTECTED -> Outcome.SKIPPED_PROTECTED;
                        case EXEMPT -> Outcome.SKIPPED_EXEMPT;
                    },
                    immunity.reason()));
        }
        return process.uid() == null || !seen.records().containsKey(process.id())
                ? Optional.of(Result.failed("the last observation of this host did not find it"))
                : Optional.empty();
    }

    Action.Terminate action() {
        return action;
    }

    /** What to call for it. */
    List<String> call(int number, String nonce) {
        var process = action.process();
        var environ = (records + EnvironReading.end(nonce)).getBytes(StandardCharsets.ISO_8859_1);
        return List.of(
                "terminate",
                Integer.toString(number),
                Integer.toString(process.pid()),
                Long.toString(process.id().startTime()),
                ofAnyUid ? "" : String.valueOf(process.uid()),
                ofAnyUid ? protection.exemptUids() : "",
                action.signal().name(),
                protection.files(uid),
                Base64.getEncoder().encodeToString(environ));
    }

    /** What came of it; nothing where it must be tried again, for it is another one now and so was it too often. */
    @Nullable
    Result result(Frame frame, String nonce, IdentityFlapping evasion) throws UnreachableException {
        return switch (frame.at(1)) {
            case "signalled" -> Result.of(Outcome.SIGNALLED);
            case "gone" -> Result.of(Outcome.ALREADY_GONE);
            case "denied" -> new Result(Outcome.DENIED, "needs the capability CAP_KILL");
            case "protected" -> new Result(Outcome.SKIPPED_PROTECTED, "it runs a protected program");
            case "silent" -> Result.failed("its environ does not answer");
            case "late" -> Result.failed("abandoned: the execution took too long");
            case "unreadable" -> OTHER;
            case "other" -> ofAnotherUid(frame.from(2), evasion);
            case "changed" -> changed(frame, nonce, evasion);
            default -> throw Frame.unreadable("unknown result of an action");
        };
    }

    /** In the next try no uid is expected: a process that changes it all the time would never have that one. */
    private @Nullable Result ofAnotherUid(String owner, IdentityFlapping evasion) throws UnreachableException {
        if (owner.isEmpty()) {
            return OTHER; // it cannot be read
        }
        var now = Frame.number(owner, "result");
        var immunity = protection.exemption(now);
        if (immunity != null) {
            return new Result(Outcome.SKIPPED_EXEMPT, immunity.reason());
        }
        var process = action.process();
        if (evasion.isOther(process, now, process.membership())) {
            return OTHER;
        }
        uid = now;
        ofAnyUid = true;
        return null;
    }

    private @Nullable Result changed(Frame frame, String nonce, IdentityFlapping evasion) throws UnreachableException {
        var now = EnvironReading.records(frame.text(), nonce);
        if (now.isEmpty()
                || evasion.isOther(action.process(), action.process().uid(), EnvironReading.membership(now.get()))) {
            return OTHER;
        }
        records = now.get();
        return null;
    }
}
