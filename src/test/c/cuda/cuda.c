/*
 * A fake library of the CUDA driver for tests. An allocation adds the process to the list of the fake nvidia-smi: FAKE_CUDA_SMI names
 * its file, FAKE_CUDA_UUID is the GPU's, and FAKE_CUDA_ERROR is the result of cuInit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
    FILE *file = fopen(getenv("FAKE_CUDA_SMI"), "a");
    fprintf(file, "%s, %d, %zu\n", getenv("FAKE_CUDA_UUID"), getpid(), bytes >> 20);
    fclose(file);
    *memory = 1;
    return 0;
}
