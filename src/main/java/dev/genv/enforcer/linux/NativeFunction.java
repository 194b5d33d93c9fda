package dev.genv.enforcer.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;

/** A function of the C library. Each call reuses the memory of its thread for {@code errno}, because a cycle makes hundreds of calls. */
public final class NativeFunction {
    private static final int NOT_VARIADIC = -1;
    private static final Linker LINKER = Linker.nativeLinker();
    private static final VarHandle ERRNO =
            Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private static final ThreadLocal<MemorySegment> STATE =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(Linker.Option.captureStateLayout()));

    private final String name;
    /** Takes the memory for {@code errno} and an array of the arguments. */
    private final MethodHandle handle;

    private NativeFunction(String name, MethodHandle handle) {
        this.name = name;
        this.handle = handle;
    }

    /** Links a function with these parameters. */
    public static NativeFunction of(String name, MemoryLayout result, MemoryLayout... parameters) {
        return variadic(name, NOT_VARIADIC, result, parameters);
    }

    /**
     * Links a function with variable arguments.
     *
     * @param firstVariadic the number of fixed parameters
     */
    @SuppressWarnings("restricted") // the only place that links native code
    public static NativeFunction variadic(
            String name, int firstVariadic, MemoryLayout result, MemoryLayout... parameters) {
        var options = new ArrayList<>(List.of(Linker.Option.captureCallState("errno")));
        if (firstVariadic != NOT_VARIADIC) {
            options.add(Linker.Option.firstVariadicArg(firstVariadic));
        }
        var handle = LINKER.downcallHandle(
                LINKER.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name)),
                FunctionDescriptor.of(result, parameters),
                options.toArray(Linker.Option[]::new));
        var result64 = handle.asType(handle.type().changeReturnType(long.class));
        return new NativeFunction(name, result64.asSpreader(Object[].class, parameters.length));
    }

    /** Calls the function, and again if a signal interrupted it. */
    public long call(Object... arguments) throws Errno {
        while (true) {
            try {
                return callOnce(arguments);
            } catch (Errno e) {
                if (!e.is(Errno.EINTR)) {
                    throw e;
                }
            }
        }
    }

    /**
     * Calls the function once.
     *
     * @throws Errno if it returns -1
     */
    public long callOnce(Object... arguments) throws Errno {
        var state = STATE.get();
        long result;
        try {
            result = (long) handle.invokeExact(state, arguments);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new LinkageError(name, e);
        }
        if (result == -1) {
            throw new Errno(name, (int) ERRNO.get(state, 0L));
        }
        return result;
    }
}
