package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.observation.Evasion;
import dev.genv.enforcer.policy.Action;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A process that is to be ended on a host, if it still is who it was. */
final class Termination {
    static final Result OTHER = Result.failed("it is no longer what it was when it was judged");

    private final Action.Terminate action;
    private final Protection protection;
    /** What its environment must say there, in the form of {@link Recollection#records}. */
    private String records;

    /** Its real uid, as it was last seen. */
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
    static Optional<Result> refused(Action.Terminate action, Seen seen) {
        var process = action.process();
        if (process.pid() <= 1) {
            return Optional.of(new Result(Outcome.SKIPPED_PROTECTED, "this is no process that may be ended"));
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
                ? Optional.of(Result.failed("it was not seen in the last look at this host"))
                : Optional.empty();
    }

    Action.Terminate action() {
        return action;
    }

    /** What to call for it. */
    List<String> deed(int number, String nonce) {
        var process = action.process();
        var environ = (records + Recollection.end(nonce)).getBytes(StandardCharsets.ISO_8859_1);
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
    Result result(Frame frame, String nonce, Evasion evasion) throws UnreachableException {
        return switch (frame.at(1)) {
            case "signalled" -> Result.of(Outcome.SIGNALLED);
            case "gone" -> Result.of(Outcome.ALREADY_GONE);
            case "denied" -> new Result(Outcome.DENIED, "needs the capability CAP_KILL");
            case "protected" -> new Result(Outcome.SKIPPED_PROTECTED, "it runs a protected program");
            case "silent" -> Result.failed("its environment does not answer");
            case "late" -> Result.failed("given up: it took too long");
            case "unreadable" -> OTHER;
            case "other" -> ofAnotherUid(frame.from(2), evasion);
            case "changed" -> changed(frame, nonce, evasion);
            default -> throw Frame.unreadable("of an action it tells something that is not known");
        };
    }

    /** In the next try no uid is expected: a process that changes it all the time would never have that one. */
    private @Nullable Result ofAnotherUid(String owner, Evasion evasion) throws UnreachableException {
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

    private @Nullable Result changed(Frame frame, String nonce, Evasion evasion) throws UnreachableException {
        var now = Recollection.records(frame.text(), nonce);
        if (now.isEmpty()
                || evasion.isOther(action.process(), action.process().uid(), Recollection.membership(now.get()))) {
            return OTHER;
        }
        records = now.get();
        return null;
    }
}
