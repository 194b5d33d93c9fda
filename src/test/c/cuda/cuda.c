/*
 * A fake library of the CUDA driver for tests. An allocation adds the process to the lists of the fake nvidia-smi and the fake NVML:
 * FAKE_CUDA_SMI and FAKE_CUDA_NVML name their files, FAKE_CUDA_UUID is the GPU's, and FAKE_CUDA_ERROR is the result of cuInit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void append(const char *variable, const char *line) {
    FILE *file = fopen(getenv(variable), "a");
    fputs(line, file);
    fclose(file);
}

int cuInit(unsigned flags) {
    (void) flags;
    return getenv("FAKE_CUDA_ERROR") ? atoi(getenv("FAKE_CUDA_ERROR")) : 0;
}

int cuDeviceGet(int *device, int index) {
    return *device = index;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = context;
    return device;
}

int cuCtxSetCurrent(void *context) {
    return context == NULL;
}

int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
    char line[200];
    snprintf(line, sizeof line, "%s, %d, %zu\n", getenv("FAKE_CUDA_UUID"), getpid(), bytes >> 20);
    append("FAKE_CUDA_SMI", line);
    snprintf(line, sizeof line, "process 0 c %d %zu\n", getpid(), bytes);
    append("FAKE_CUDA_NVML", line);
    *memory = 1;
    return 0;
}
