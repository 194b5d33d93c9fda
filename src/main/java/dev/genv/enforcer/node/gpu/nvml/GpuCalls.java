package dev.genv.enforcer.node.gpu.nvml;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.Fault;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.util.Arrays;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The calls about one GPU in one reading. After an error that concerns the whole GPU, no further call is made for it. */
final class GpuCalls {
    private final NvmlLibrary library;
    private @Nullable Failure ofWholeGpu;

    GpuCalls(NvmlLibrary library) {
        this.library = library;
    }

    private record Failure(int code, NvmlFunction function) {
        <T> Answer<T> answer() {
            return Answer.fault(code, function.symbol());
        }
    }

    /** Takes the value that a call left in memory. */
    interface Result<T> {
        T take() throws NvmlException;
    }

    /**
     * Makes a call, and takes its result if it succeeds.
     *
     * @throws NvmlException after an error that concerns all GPUs
     */
    <T> Answer<T> answer(NvmlFunction function, IntSupplier call, Result<T> result) throws NvmlException {
        if (ofWholeGpu != null) {
            return ofWholeGpu.answer();
        }
        var code = call.getAsInt();
        return code == NvmlCode.SUCCESS.number() ? Answer.of(result.take()) : error(code, function);
    }

    /** Makes a call whose error, of whatever kind, leaves nothing unknown but its own value. */
    <T> Answer<T> optional(NvmlFunction function, IntSupplier call, Supplier<Answer<T>> result) {
        if (ofWholeGpu != null) {
            return ofWholeGpu.answer();
        }
        var code = call.getAsInt();
        return code == NvmlCode.SUCCESS.number() ? result.get() : Answer.fault(code, function.symbol());
    }

    /** Ends the calls: without a handle, none can be made. */
    void end(int code, NvmlFunction function) throws NvmlException {
        error(code, function);
        ofWholeGpu = new Failure(code, function);
    }

    private <T> Answer<T> error(int code, NvmlFunction function) throws NvmlException {
        var failure = new Failure(code, function);
        switch (NvmlCode.extentOf(code)) {
            case SOURCE -> throw ofAllGpus(library, function, code);
            case GPU -> ofWholeGpu = failure;
            case VALUE, NOTHING -> {}
        }
        return failure.answer();
    }

    /** Returns whether an answer is one of these errors of this function. */
    static boolean isFault(Answer<?> answer, NvmlFunction function, NvmlCode... codes) {
        return answer instanceof Fault<?>(var number, var name)
                && name.equals(function.symbol())
                && Arrays.stream(codes).anyMatch(code -> code.number() == number);
    }

    /** Returns whether the library or the driver lacks this version of a function, so that an older one may answer. */
    static boolean isTooNew(Answer<?> answer, NvmlFunction function) {
        return isFault(answer, function, NvmlCode.FUNCTION_NOT_FOUND, NvmlCode.ARGUMENT_VERSION_MISMATCH);
    }

    boolean areCuredByInitialization() {
        return ofWholeGpu != null && NvmlCode.isCuredByInitialization(ofWholeGpu.code);
    }

    /** The failure of the source after an error. */
    static NvmlException ofAllGpus(NvmlLibrary library, NvmlFunction function, int code) {
        return new NvmlException(
                Cause.ERROR, code, "%s failed: %s (%d)".formatted(function.symbol(), library.text(code), code));
    }
}
