package dev.genv.enforcer.node.gpu.nvml.library;

/** The functions of NVML that are called. Drivers since 450 have the required ones. */
public enum NvmlFunction {
    INIT("nvmlInit_v2", true),
    SHUTDOWN("nvmlShutdown", true),
    ERROR_STRING("nvmlErrorString", true),
    DRIVER_VERSION("nvmlSystemGetDriverVersion", true),
    DEVICE_COUNT("nvmlDeviceGetCount_v2", true),
    HANDLE_BY_INDEX("nvmlDeviceGetHandleByIndex_v2", true),
    UUID("nvmlDeviceGetUUID", true),
    MINOR_NUMBER("nvmlDeviceGetMinorNumber", true),
    MEMORY_INFO("nvmlDeviceGetMemoryInfo", true),
    MEMORY_INFO_V2("nvmlDeviceGetMemoryInfo_v2", false),
    COMPUTE_PROCESSES_V2("nvmlDeviceGetComputeRunningProcesses_v2", false),
    COMPUTE_PROCESSES_V3("nvmlDeviceGetComputeRunningProcesses_v3", false),
    GRAPHICS_PROCESSES_V2("nvmlDeviceGetGraphicsRunningProcesses_v2", false),
    GRAPHICS_PROCESSES_V3("nvmlDeviceGetGraphicsRunningProcesses_v3", false),
    MIG_MODE("nvmlDeviceGetMigMode", false),
    MAX_MIG_DEVICES("nvmlDeviceGetMaxMigDeviceCount", false),
    MIG_HANDLE_BY_INDEX("nvmlDeviceGetMigDeviceHandleByIndex", false),
    PROCESS_UTILIZATION("nvmlDeviceGetProcessUtilization", false),
    /** Replaces {@link #TEMPERATURE}, which is deprecated since CUDA 13. */
    TEMPERATURE_V("nvmlDeviceGetTemperatureV", false),
    TEMPERATURE("nvmlDeviceGetTemperature", false),
    UTILIZATION_RATES("nvmlDeviceGetUtilizationRates", false),
    /** Never called: these two show the layout of {@link #COMPUTE_PROCESSES_V3}. */
    CONFIDENTIAL_MEMORY("nvmlDeviceGetConfComputeMemSizeInfo", false),
    PROCESS_DETAILS("nvmlDeviceGetRunningProcessDetailList", false);

    private final String symbol;
    private final boolean required;

    NvmlFunction(String symbol, boolean required) {
        this.symbol = symbol;
        this.required = required;
    }

    public String symbol() {
        return symbol;
    }

    boolean isRequired() {
        return required;
    }
}
