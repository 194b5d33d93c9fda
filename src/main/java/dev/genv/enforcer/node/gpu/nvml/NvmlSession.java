package dev.genv.enforcer.node.gpu.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.Listed;
import dev.genv.enforcer.facts.NvmlFacts.Value;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.node.gpu.nvml.library.Activity;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** NVML from its initialization to its shutdown. Only the thread that opened it uses it. */
final class NvmlSession implements AutoCloseable {
    /** NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE. */
    private static final int VERSION_SIZE = 80;
    /** More than a machine can have. */
    private static final int MOST_DEVICES = 1024;

    private final NvmlLibrary library;
    private final UtilizationTimes times;
    private final boolean readsStatus;
    private final EntryBuffer buffer = new EntryBuffer();
    private boolean isInitialized;
    private boolean hasCurableErrors;

    private NvmlSession(NvmlLibrary library, UtilizationTimes times, boolean readsStatus) {
        this.library = library;
        this.times = times;
        this.readsStatus = readsStatus;
    }

    /**
     * Loads and initializes NVML.
     *
     * @param readsStatus whether to read the temperature and the utilization of the GPUs
     * @throws NvmlException if it cannot be loaded, is too old, or refuses
     */
    static NvmlSession open(Path file, Activity activity, UtilizationTimes times, boolean readsStatus)
            throws NvmlException {
        var session = new NvmlSession(NvmlLibrary.load(file, activity), times, readsStatus);
        try {
            session.initialize();
            return session;
        } catch (NvmlException | RuntimeException e) {
            session.free();
            throw e;
        }
    }

    private void initialize() throws NvmlException {
        ProcessLists.requireFunctions(library);
        requireSuccess(NvmlFunction.INIT, library.call(NvmlFunction.INIT));
        isInitialized = true; // nothing is called before the session is returned: one that is initialized is shut down
    }

    /** @throws NvmlException after an error that concerns all GPUs, or if the answers are not laid out as expected */
    Listed read() throws NvmlException {
        hasCurableErrors = false;
        try (var memory = Arena.ofConfined()) {
            var reader = new DeviceReader(library, buffer, times, readsStatus, memory);
            var devices = new ArrayList<Device>();
            var count = count(memory);
            for (var index = 0; index < count; index++) {
                var calls = new GpuCalls(library);
                devices.add(reader.read(index, calls));
                hasCurableErrors |= calls.areCuredByInitialization();
            }
            times.retain(devices.stream().flatMap(NvmlSession::uuid).collect(Collectors.toSet()));
            return new Listed(driver(memory), devices);
        }
    }

    /** Returns whether a GPU may come back after an initialization. */
    boolean hasCurableErrors() {
        return hasCurableErrors;
    }

    private int count(Arena memory) throws NvmlException {
        var number = memory.allocate(JAVA_INT);
        requireSuccess(NvmlFunction.DEVICE_COUNT, library.call(NvmlFunction.DEVICE_COUNT, number));
        var count = number.get(JAVA_INT, 0);
        if (count < 0 || count > MOST_DEVICES) {
            throw new NvmlException(
                    Cause.LAYOUT,
                    "NVML is not used: %s counted %s devices"
                            .formatted(NvmlFunction.DEVICE_COUNT.symbol(), Integer.toUnsignedString(count)));
        }
        return count;
    }

    private Answer<String> driver(Arena memory) throws NvmlException {
        var version = memory.allocate(VERSION_SIZE + 1); // the last byte always ends the text
        return new GpuCalls(library)
                .answer(
                        NvmlFunction.DRIVER_VERSION,
                        () -> library.call(NvmlFunction.DRIVER_VERSION, version, VERSION_SIZE),
                        () -> version.getString(0));
    }

    private static Stream<String> uuid(Device device) {
        return device.uuid() instanceof Value<String>(var uuid) ? Stream.of(uuid) : Stream.empty();
    }

    private void requireSuccess(NvmlFunction function, int code) throws NvmlException {
        if (code != NvmlCode.SUCCESS.number()) {
            throw GpuCalls.ofAllGpus(library, function, code);
        }
    }

    /** Shuts NVML down and unloads it. */
    @Override
    public void close() {
        try {
            if (isInitialized) {
                library.call(NvmlFunction.SHUTDOWN); // its result changes nothing: the library is unloaded
            }
        } finally {
            free();
        }
    }

    private void free() {
        buffer.close();
        library.close();
    }
}
