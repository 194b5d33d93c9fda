package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SignalCheck;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.ProcessFacts.ProgramFile;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A process to terminate on a machine if its identity has not changed. */
final class Termination {
    static final Result OTHER = Result.failed("its identity has changed since the rules were checked");

    private static final Result WITHOUT_DEVICE = Result.failed(
            "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not terminated");
    private static final Result UNEXAMINED =
            Result.failed("it is listed, but its open files cannot be examined, so it is not terminated");

    private final Instruction.Terminate order;
    /** What its environ must name. */
    private EnvironFacts environ;

    /** Where its environ must be. */
    private Addresses addresses;

    /** Its real uid; null for any but an exempt one, because it changed too often. */
    private @Nullable Long uid;

    private Collection<ProgramFile> files;

    Termination(Instruction.Terminate order, EnvironFacts environ) {
        this.order = order;
        this.environ = environ;
        addresses = order.expected().addresses();
        uid = order.expected().uid();
        files = order.expected().files();
    }

    Instruction.Terminate order() {
        return order;
    }

    Request.Terminate request(int number) {
        return new Request.Terminate(
                number,
                order.process().pid(),
                order.process().startTime(),
                uid,
                order.expected().exempt().stream().sorted().toList(),
                order.kill() ? "KILL" : "TERM",
                List.copyOf(files),
                environ.id(),
                environ.digest(),
                numbers(addresses));
    }

    /** Returns the result; empty if it must be tried again, because its identity changed too often before. */
    Optional<Result> result(Answer.Terminated answer) {
        return switch (answer.result()) {
            case SIGNALLED -> Optional.of(Result.of(Outcome.SIGNALLED));
            case GONE -> Optional.of(Result.of(Outcome.ALREADY_GONE));
            case DENIED -> Optional.of(new Result(Outcome.DENIED, "needs the capability CAP_KILL"));
            case PROTECTED -> Optional.of(new Result(Outcome.SKIPPED_PROTECTED, "it runs a protected program"));
            case TIMEOUT -> Optional.of(Result.failed("its environ does not answer"));
            case LATE -> Optional.of(Result.failed(RemoteActions.ABANDONED));
            case UNREADABLE -> Optional.of(OTHER);
            case WITHOUT_DEVICE -> Optional.of(WITHOUT_DEVICE);
            case UNEXAMINED -> Optional.of(UNEXAMINED);
            case OTHER_USER -> ofOtherUser(answer.uid());
            case CHANGED -> changed(answer.environ(), answer.stat());
        };
    }

    /** The next attempt accepts any uid, because a process that changes its uid all the time would never have the expected one. */
    private Optional<Result> ofOtherUser(@Nullable Long now) {
        if (now == null) {
            return Optional.of(OTHER);
        }
        uid = null;
        files = order.check().protectedFiles(now);
        return order.check().refusal(now, null);
    }

    private Optional<Result> changed(@Nullable EnvironFacts now, @Nullable Bytes stat) {
        if (now == null || stat == null) {
            return Optional.of(OTHER);
        }
        environ = now;
        addresses = ProcStat.tryParse(stat.text()).map(ProcStat::addresses).orElse(Addresses.UNKNOWN);
        return order.check().refusal(order.expected().uid(), new SignalCheck.Present(now, stat));
    }

    private static List<Long> numbers(Addresses addresses) {
        return addresses.areKnown()
                ? List.of(
                        addresses.argumentsBegin(),
                        addresses.argumentsEnd(),
                        addresses.environmentBegin(),
                        addresses.environmentEnd())
                : List.of();
    }
}
