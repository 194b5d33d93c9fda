/*
 * A fake NVML for tests. It does what the file "nvml.txt" beside the library says, which it reads again in each call (or once per
 * initialization, after a line "cached"). It appends the name of each called function to the file "nvml.calls", if there is one.
 *
 *   driver VERSION
 *   device INDEX UUID MINOR TOTAL USED          in bytes
 *   mig INDEX SLOTS                             the device is in MIG mode
 *   instance INDEX SLOT GPU_ID COMPUTE_ID       a MIG device
 *   process INDEX KIND PID BYTES [GPU_ID COMPUTE_ID]   KIND is c or g; BYTES -1 is unknown
 *   sample INDEX PID TIME SM                    a sample of utilization
 *   status INDEX TEMPERATURE UTILIZATION        in degrees Celsius and percent
 *   stride BYTES                                of an entry in a list of processes: 16, 24 or 32
 *   capacity COUNT                              the least number of entries for which lists have enough space
 *   claim FUNCTION COUNT                        the number that a function returns instead of the true one
 *   extra BYTES                                 are written after each list of processes
 *   fail FUNCTION CODE [INDEX]                  for all devices or one; 1000 + 10 * INDEX + SLOT is a MIG device
 *   hang FUNCTION FILE                          until the file exists
 *
 * Compiled with -DWITHOUT_V3, -DWITHOUT_V2, -DWITHOUT_MIG, -DWITHOUT_MEMORY_V2, -DWITHOUT_DETAILS, -DWITHOUT_CONFIDENTIAL,
 * -DWITHOUT_UTILIZATION, -DWITHOUT_TEMPERATURE_V or -DWITHOUT_STATUS it lacks these functions.
 */
#include "scenario.h"

/* A handle is the address of an element: [device][0] is the GPU, [device][1 + slot] its MIG device. */
static char handles[DEVICES][1 + SLOTS];

/* Returns the place of a handle; an invalid one ends the tests, as it could with the real library. */
static int place_of(void *handle) {
    long place = (char *) handle - handles[0];
    if (place < 0 || place >= (long) sizeof handles) {
        abort();
    }
    return (int) place;
}

#define BEGIN(handle) \
    int place = place_of(handle), i = place / (1 + SLOTS), slot = place % (1 + SLOTS) - 1; \
    int error = begin(__func__, slot < 0 ? i : 1000 + 10 * i + slot); \
    (void) slot; \
    if (error) return error

int nvmlInit_v2(void) {
    int error = begin(__func__, -1);
    initialized += !error;
    return error;
}

int nvmlShutdown(void) {
    int error = begin(__func__, -1);
    initialized -= !error;
    return error;
}

const char *nvmlErrorString(int code) {
    return code == 9 ? "Driver Not Loaded" : code == 18 ? "Driver/library version mismatch" : code == 999 ? "Unknown Error" : "Error";
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    int error = begin(__func__, -1);
    return error ? error : strlen(now.driver) >= length ? 7 : (strcpy(version, now.driver), 0);
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    int error = begin(__func__, -1);
    *count = claimed(__func__, (unsigned) now.devices);
    return error;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    int error = begin(__func__, (int) index);
    return error ? error : index >= (unsigned) now.devices ? 2 : (*device = handles[index], 0);
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
    BEGIN(device);
    return strlen(now.device[i].uuid) >= length ? 7 : (strcpy(uuid, now.device[i].uuid), 0);
}

int nvmlDeviceGetMinorNumber(void *device, unsigned *minor) {
    BEGIN(device);
    *minor = now.device[i].minor;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    BEGIN(device);
    memory[0] = now.device[i].total;
    memory[1] = memory[0] - now.device[i].used;
    memory[2] = now.device[i].used;
    return 0;
}

#ifndef WITHOUT_MEMORY_V2
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;

int nvmlDeviceGetMemoryInfo_v2(void *device, memory_v2_t *memory) {
    BEGIN(device);
    if (memory->version != (sizeof *memory | 2 << 24)) {
        return 25;
    }
    memory->total = now.device[i].total;
    memory->reserved = 1 << 20;
    memory->used = now.device[i].used;
    memory->free = memory->total - memory->used - memory->reserved;
    return 0;
}
#endif

static int list(const char *function, int i, int slot, char kind, unsigned *count, char *entries) {
    unsigned written = 0, space = *count;
    for (int n = now.first[i]; n; n = now.process[n - 1].next) {
        process_t *p = &now.process[n - 1];
        if (p->kind != kind
                || (slot >= 0 && (p->gpu != now.instance[i][slot].gpu || p->compute != now.instance[i][slot].compute))) {
            continue;
        }
        if (written < space) {
            char *entry = entries + (size_t) written * now.stride;
            unsigned instance[2] = {p->gpu, p->compute};
            memcpy(entry, &p->pid, sizeof p->pid);
            memcpy(entry + 8, &p->bytes, sizeof p->bytes);
            memcpy(entry + 16, instance, now.stride >= 24 ? sizeof instance : 0);
            memset(entry + 24, 0, now.stride > 24 ? now.stride - 24 : 0);
        }
        written++;
    }
    *count = written > now.capacity ? written : now.capacity;
    if (*count > space) {
        return 7;
    }
    memset(entries + (size_t) written * now.stride, 0, now.extra);
    *count = claimed(function, written);
    return 0;
}

#define LIST(name, kind) \
    int name(void *device, unsigned *count, char *entries) { \
        BEGIN(device); \
        return list(__func__, i, slot, kind, count, entries); \
    }

#ifndef WITHOUT_V2
LIST(nvmlDeviceGetComputeRunningProcesses_v2, 'c')
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, 'g')
#endif
#ifndef WITHOUT_V3
LIST(nvmlDeviceGetComputeRunningProcesses_v3, 'c')
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, 'g')
#endif

#ifndef WITHOUT_MIG
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    BEGIN(device);
    *current = *pending = now.device[i].slots > 0;
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) {
    BEGIN(device);
    *count = claimed(__func__, now.device[i].slots);
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance) {
    BEGIN(device);
    return index >= SLOTS || !now.instance[i][index].exists ? 6 : (*instance = &handles[i][1 + index], 0);
}
#endif

#ifndef WITHOUT_UTILIZATION
int nvmlDeviceGetProcessUtilization(void *device, char *samples, unsigned *count, unsigned long long since) {
    BEGIN(device);
    unsigned written = 0, space = *count;
    for (int n = 0; n < now.samples; n++) {
        sample_t *s = &now.sample[n];
        if (s->device == (unsigned) i && s->time > since && written++ < space) {
            char *entry = samples + (written - 1) * 32;
            unsigned utilization[4] = {s->sm, 0, 0, 0};
            memcpy(entry, &s->pid, sizeof s->pid);
            memcpy(entry + 8, &s->time, sizeof s->time);
            memcpy(entry + 16, utilization, sizeof utilization);
        }
    }
    *count = claimed(__func__, written);
    return written > space ? 7 : written ? 0 : 6;
}
#endif

#ifndef WITHOUT_STATUS
int nvmlDeviceGetTemperature(void *device, int sensor, int *temperature) {
    BEGIN(device);
    return sensor ? 2 : (*temperature = (int) claimed(__func__, (unsigned) now.device[i].temperature), 0);
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *utilization) {
    BEGIN(device);
    utilization[0] = now.device[i].utilization;
    utilization[1] = 0;
    return 0;
}
#endif

#if !defined WITHOUT_STATUS && !defined WITHOUT_TEMPERATURE_V
typedef struct { unsigned version, sensor; int temperature; } temperature_v1_t;

int nvmlDeviceGetTemperatureV(void *device, temperature_v1_t *temperature) {
    BEGIN(device);
    if (temperature->version != (sizeof *temperature | 1 << 24)) {
        return 25;
    }
    return temperature->sensor ? 2 : (temperature->temperature = now.device[i].temperature, 0);
}
#endif

#ifndef WITHOUT_CONFIDENTIAL
void nvmlDeviceGetConfComputeMemSizeInfo(void) { abort(); }
#endif
#ifndef WITHOUT_DETAILS
void nvmlDeviceGetRunningProcessDetailList(void) { abort(); }
#endif
