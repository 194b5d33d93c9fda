package dev.genv.enforcer.node.gpu.nvml.library;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.format.gpu.NvmlCode;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * The loaded library. Each call returns the code of the function, and {@link NvmlCode#FUNCTION_NOT_FOUND} if the library lacks it. Only
 * the thread that loaded it uses it; an interrupt of this thread prevents
 * the next call, except the shutdown.
 */
public final class NvmlLibrary implements AutoCloseable {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final MethodHandle NOTHING = link();
    private static final MethodHandle POINTER = link(ADDRESS);
    private static final MethodHandle POINTER_INT = link(ADDRESS, JAVA_INT);
    private static final MethodHandle INT_POINTER = link(JAVA_INT, ADDRESS);
    private static final MethodHandle POINTERS_2 = link(ADDRESS, ADDRESS);
    private static final MethodHandle POINTERS_2_INT = link(ADDRESS, ADDRESS, JAVA_INT);
    private static final MethodHandle POINTER_INT_POINTER = link(ADDRESS, JAVA_INT, ADDRESS);
    private static final MethodHandle POINTERS_3 = link(ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle POINTERS_3_LONG = link(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG);
    private static final MethodHandle INT_TO_TEXT = textOfCode();
    private static final long LONGEST_TEXT = 256;

    private final Arena arena = Arena.ofConfined();
    private final Map<NvmlFunction, MemorySegment> addresses = new EnumMap<>(NvmlFunction.class);
    private final Activity activity;

    private NvmlLibrary(Activity activity) {
        this.activity = activity;
    }

    /**
     * Loads the library.
     *
     * @param activity notes the call that runs
     * @throws NvmlException if it cannot be loaded, or lacks a function that is required
     */
    public static NvmlLibrary load(Path file, Activity activity) throws NvmlException {
        activity.begin("the loading of " + file);
        var library = new NvmlLibrary(activity);
        try {
            library.link(file);
            return library;
        } catch (NvmlException e) {
            library.close();
            throw e;
        }
    }

    @SuppressWarnings("restricted") // the file was examined
    private void link(Path file) throws NvmlException {
        SymbolLookup symbols;
        try {
            symbols = SymbolLookup.libraryLookup(file, arena);
        } catch (IllegalArgumentException e) {
            throw new NvmlException(
                    Cause.LIBRARY, "%1$s cannot be loaded; the output of 'ldd %1$s' can show why".formatted(file));
        }
        for (var function : NvmlFunction.values()) {
            symbols.find(function.symbol()).ifPresent(address -> addresses.put(function, address));
            if (function.isRequired() && !has(function)) {
                throw new NvmlException(
                        Cause.LIBRARY,
                        "%s is not NVML, or too old: it has no function %s".formatted(file, function.symbol()));
            }
        }
    }

    public boolean has(NvmlFunction function) {
        return addresses.containsKey(function);
    }

    public int call(NvmlFunction function) {
        try {
            var address = begin(function);
            return address == null ? missing() : (int) NOTHING.invokeExact(address);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    public int call(NvmlFunction function, MemorySegment first) {
        try {
            var address = begin(function);
            return address == null ? missing() : (int) POINTER.invokeExact(address, first);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    public int call(NvmlFunction function, MemorySegment first, int second) {
        try {
            var address = begin(function);
            return address == null ? missing() : (int) POINTER_INT.invokeExact(address, first, second);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    public int call(NvmlFunction function, int first, MemorySegment second) {
        try {
            var address = begin(function);
            return address == null ? missing() : (int) INT_POINTER.invokeExact(address, first, second);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    public int call(NvmlFunction function, MemorySegment first, MemorySegment second) {
        try {
            var address = begin(function);
            return address == null ? missing() : (int) POINTERS_2.invokeExact(address, first, second);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    public int call(NvmlFunction function, MemorySegment first, MemorySegment second, int third) {
        try {
            var address = begin(function);
            return address == null ? missing() : (int) POINTERS_2_INT.invokeExact(address, first, second, third);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    public int call(NvmlFunction function, MemorySegment first, int second, MemorySegment third) {
        try {
            var address = begin(function);
            return address == null ? missing() : (int) POINTER_INT_POINTER.invokeExact(address, first, second, third);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    public int call(NvmlFunction function, MemorySegment first, MemorySegment second, MemorySegment third) {
        try {
            var address = begin(function);
            return address == null ? missing() : (int) POINTERS_3.invokeExact(address, first, second, third);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    public int call(
            NvmlFunction function, MemorySegment first, MemorySegment second, MemorySegment third, long fourth) {
        try {
            var address = begin(function);
            return address == null
                    ? missing()
                    : (int) POINTERS_3_LONG.invokeExact(address, first, second, third, fourth);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Returns NVML's own text of a code, such as {@code GPU is lost}. */
    @SuppressWarnings("restricted") // NVML returns the address of a constant
    public String text(int code) {
        try {
            var address = begin(NvmlFunction.ERROR_STRING);
            if (address == null) {
                return "";
            }
            var text = (MemorySegment) INT_TO_TEXT.invokeExact(address, code);
            return text.equals(MemorySegment.NULL)
                    ? ""
                    : text.reinterpret(LONGEST_TEXT).getString(0);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    private @Nullable MemorySegment begin(NvmlFunction function) {
        // A shutdown is never left out: the driver would keep what NVML holds.
        if (function != NvmlFunction.SHUTDOWN && Thread.currentThread().isInterrupted()) {
            throw new CancellationException("nobody waits for the answer");
        }
        activity.begin(function.symbol());
        return addresses.get(function);
    }

    private static int missing() {
        return NvmlCode.FUNCTION_NOT_FOUND.number();
    }

    private static RuntimeException unexpected(Throwable e) {
        switch (e) {
            case RuntimeException known -> throw known;
            case Error known -> throw known;
            default -> throw new LinkageError("a function of NVML", e);
        }
    }

    /** Unloads the library. */
    @Override
    public void close() {
        activity.begin("the unloading of the library");
        arena.close();
    }

    @SuppressWarnings("restricted") // the signatures of nvml.h
    private static MethodHandle link(MemoryLayout... parameters) {
        return LINKER.downcallHandle(FunctionDescriptor.of(JAVA_INT, parameters));
    }

    @SuppressWarnings("restricted")
    private static MethodHandle textOfCode() {
        return LINKER.downcallHandle(FunctionDescriptor.of(ADDRESS, JAVA_INT));
    }
}
