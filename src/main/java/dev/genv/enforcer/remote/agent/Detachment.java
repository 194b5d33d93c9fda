package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Sha256;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The attachments to remove from {@code devices.json} of a machine, in one write, and only if the file is still the one from which the
 * new one was made.
 */
final class Detachment {
    /** In bytes. The agent reads no larger file. */
    private static final int LARGEST = 3 << 20;

    private static final InstructionResult ALREADY_DETACHED =
            new InstructionResult.Finished(Result.of(Outcome.ALREADY_DETACHED));
    static final InstructionResult REPEATED_CHANGES = failed(
            "devices.json or genv.lock is changed repeatedly while genv's lock is held: find out who writes there"
                    + " without it");

    private final List<Instruction.Detach> orders;
    private final BiConsumer<Instruction, InstructionResult> done;
    private @Nullable Bytes seen;
    private Bytes wanted = Bytes.EMPTY;
    private Set<AttachmentId> removed = Set.of();
    private boolean isOpen;

    /**
     * Makes the new file. If nothing is to be written, or if that is not possible, the orders are done at once.
     *
     * @param seen the file as it was observed; null if it was not read
     * @param done called once with the reply to each order
     */
    Detachment(List<Instruction.Detach> orders, @Nullable Bytes seen, BiConsumer<Instruction, InstructionResult> done) {
        this.orders = List.copyOf(orders);
        this.done = done;
        isOpen = !orders.isEmpty();
        if (isOpen) {
            prepare(seen);
        }
    }

    /** Whether the orders are not done yet. */
    boolean isOpen() {
        return isOpen;
    }

    private void prepare(@Nullable Bytes file) {
        seen = file;
        if (file == null) {
            return; // the answer will contain it
        }
        try {
            var json = GenvJson.read(file.array());
            removed = DevicesFile.remove(
                    json, orders.stream().map(Instruction.Detach::attachment).collect(Collectors.toUnmodifiableSet()));
            wanted = Bytes.of(GenvJson.write(json, LARGEST));
            if (removed.isEmpty()) {
                finish(ALREADY_DETACHED);
            }
        } catch (UnreadableException e) {
            finish(failed("devices.json " + e.getMessage()));
        }
    }

    Request.Detach request(int number) {
        return new Request.Detach(number, seen == null ? "" : Sha256.hex(seen.array()), wanted);
    }

    /**
     * Records an answer. If others have written meanwhile, the orders stay open, because the changes of others must not be lost.
     *
     * @param wasBegun whether the agent announced the write
     */
    void record(Answer.Detached answer, LockFacts lock, boolean wasBegun) {
        switch (answer.result()) {
            case DONE -> finish();
            case ABSENT -> finish(ALREADY_DETACHED);
            case CHANGED -> prepare(answer.file() instanceof StateFile.Present(var content) ? content : null);
            case RESTLESS -> {}
            case LATE -> finish(failed(RemoteActions.ABANDONED));
            case UNREADABLE ->
                finish(
                        answer.file() instanceof StateFile.Unreadable unreadable
                                ? new InstructionResult.Unreadable(unreadable)
                                : failed("the state directory " + answer.reason()));
            case UNWRITTEN -> finish(failed("the new devices.json cannot be written: " + answer.reason()));
            case TIMEOUT -> {
                var why = "the state directory does not answer: " + answer.reason();
                finish(wasBegun ? new InstructionResult.Finished(Result.lost(why)) : failed(why));
            }
            case LOCKED -> finish(new InstructionResult.Locked(lock));
        }
    }

    private static InstructionResult failed(String why) {
        return new InstructionResult.Finished(Result.failed(why));
    }

    private void finish() {
        var left = new HashSet<>(removed);
        isOpen = false;
        orders.forEach(order -> done.accept(
                order,
                left.remove(order.attachment())
                        ? new InstructionResult.Finished(Result.of(Outcome.DETACHED))
                        : ALREADY_DETACHED));
    }

    void finish(InstructionResult reply) {
        if (isOpen) {
            isOpen = false;
            orders.forEach(order -> done.accept(order, reply));
        }
    }
}
