package dev.genv.enforcer.format.gpu;

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The codes that a function of NVML returns: {@code nvmlReturn_t} of nvml.h in CUDA 13. */
public enum NvmlCode {
    SUCCESS(0, Extent.NOTHING),
    UNINITIALIZED(1, Extent.SOURCE),
    INVALID_ARGUMENT(2, Extent.VALUE),
    NOT_SUPPORTED(3, Extent.VALUE),
    /** Such as for the processes of a GPU with MIG, without the privilege to see them. */
    NO_PERMISSION(4, Extent.VALUE),
    ALREADY_INITIALIZED(5, Extent.VALUE),
    /** Such as for a MIG device that was not created. */
    NOT_FOUND(6, Extent.VALUE),
    /** The list has more entries than the buffer. */
    INSUFFICIENT_SIZE(7, Extent.VALUE),
    INSUFFICIENT_POWER(8, Extent.GPU),
    DRIVER_NOT_LOADED(9, Extent.SOURCE),
    TIMEOUT(10, Extent.VALUE),
    IRQ_ISSUE(11, Extent.GPU),
    LIBRARY_NOT_FOUND(12, Extent.SOURCE),
    FUNCTION_NOT_FOUND(13, Extent.VALUE),
    CORRUPTED_INFOROM(14, Extent.GPU),
    /** The GPU has fallen off the bus. */
    GPU_IS_LOST(15, Extent.GPU),
    RESET_REQUIRED(16, Extent.GPU),
    /** The operating system blocks the device file, such as the device cgroup of a container. */
    OPERATING_SYSTEM(17, Extent.SOURCE),
    /** The driver was replaced, and its library is another version. */
    LIB_RM_VERSION_MISMATCH(18, Extent.SOURCE),
    IN_USE(19, Extent.VALUE),
    MEMORY(20, Extent.VALUE),
    NO_DATA(21, Extent.VALUE),
    VGPU_ECC_NOT_SUPPORTED(22, Extent.VALUE),
    INSUFFICIENT_RESOURCES(23, Extent.VALUE),
    FREQ_NOT_SUPPORTED(24, Extent.VALUE),
    ARGUMENT_VERSION_MISMATCH(25, Extent.VALUE),
    DEPRECATED(26, Extent.VALUE),
    NOT_READY(27, Extent.VALUE),
    GPU_NOT_FOUND(28, Extent.GPU),
    INVALID_STATE(29, Extent.VALUE),
    RESET_TYPE_NOT_SUPPORTED(30, Extent.VALUE),
    /** An internal error of the driver, also what a container gets whose access to the GPUs was revoked. */
    UNKNOWN(999, Extent.VALUE);

    private static final Map<Integer, NvmlCode> BY_NUMBER =
            Arrays.stream(values()).collect(Collectors.toMap(NvmlCode::number, Function.identity()));

    private final int number;
    private final Extent extent;

    NvmlCode(int number, Extent extent) {
        this.number = number;
        this.extent = extent;
    }

    /** What an error leaves unknown. An error of a call that concerns all GPUs always leaves all of them unknown. */
    public enum Extent {
        NOTHING,
        /** The value that was asked for. */
        VALUE,
        /** The whole GPU. */
        GPU,
        /** All GPUs. */
        SOURCE
    }

    /** Returns the code of a number; empty for one that nvml.h does not define. */
    public static Optional<NvmlCode> of(int number) {
        return Optional.ofNullable(BY_NUMBER.get(number));
    }

    /** Returns what an error with this number leaves unknown; an undefined one is an error of a value. */
    public static Extent extentOf(int number) {
        return of(number).map(code -> code.extent).orElse(Extent.VALUE);
    }

    /** Returns whether NVML must be initialized again, because it would keep returning the error. */
    public static boolean isCuredByInitialization(int number) {
        return of(number)
                .filter(code -> switch (code) {
                    case UNINITIALIZED, DRIVER_NOT_LOADED, GPU_IS_LOST, LIB_RM_VERSION_MISMATCH, GPU_NOT_FOUND -> true;
                    default -> false;
                })
                .isPresent();
    }

    public int number() {
        return number;
    }
}
