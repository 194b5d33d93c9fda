/* The file that says what the fake NVML does; nvml.c describes it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 64
#define SLOTS 8
#define ENTRIES 8192
#define TEXT 512

typedef struct { char uuid[96]; unsigned minor, slots, utilization; int temperature; unsigned long long total, used; } device_t;
typedef struct { unsigned device, pid, gpu, compute; unsigned long long bytes; char kind; int next; } process_t;
typedef struct { unsigned device, pid, sm; unsigned long long time; } sample_t;
typedef struct { char function[64]; int code, device; } failure_t;
typedef struct { char function[64]; unsigned count; } claim_t;
typedef struct { char function[64], file[TEXT]; } hang_t;
typedef struct { unsigned exists, gpu, compute; } instance_t;

static struct {
    int cached, devices, processes, samples, failures, hangs, claims;
    unsigned stride, capacity, extra;
    char driver[80];
    device_t device[DEVICES];
    instance_t instance[DEVICES][SLOTS];
    int first[DEVICES], last[DEVICES]; /* the processes of a device, each by its position from 1 */
    process_t process[ENTRIES];
    sample_t sample[ENTRIES];
    failure_t failure[64];
    claim_t claim[8];
    hang_t hang[8];
} now;
static int initialized;

static FILE *beside(const char *name, const char *mode) {
    Dl_info info;
    char path[TEXT * 2];
    dladdr((void *) beside, &info);
    snprintf(path, sizeof path, "%.*s%s", (int) (strrchr(info.dli_fname, '/') + 1 - info.dli_fname), info.dli_fname, name);
    return fopen(path, mode);
}

static void line(const char *text) {
    unsigned i, j;
    int t;
    process_t p = {.gpu = ~0u, .compute = ~0u};
    sample_t s;
    failure_t f = {.device = -1};
    claim_t c;
    hang_t h;
    instance_t mig = {.exists = 1};
    device_t d = {0};
    if (sscanf(text, "device %u %95s %u %llu %llu", &i, d.uuid, &d.minor, &d.total, &d.used) == 5 && i < DEVICES) {
        now.device[i] = d;
        now.devices = (int) i + 1 > now.devices ? (int) i + 1 : now.devices;
    } else if (sscanf(text, "status %u %d %u", &i, &t, &j) == 3 && i < DEVICES) {
        now.device[i].temperature = t;
        now.device[i].utilization = j;
    } else if (sscanf(text, "mig %u %u", &i, &j) == 2 && i < DEVICES) {
        now.device[i].slots = j;
    } else if (sscanf(text, "instance %u %u %u %u", &i, &j, &mig.gpu, &mig.compute) == 4 && i < DEVICES && j < SLOTS) {
        now.instance[i][j] = mig;
    } else if (sscanf(text, "process %u %c %u %lld %u %u", &p.device, &p.kind, &p.pid, (long long *) &p.bytes, &p.gpu, &p.compute) >= 4
            && now.processes < ENTRIES && p.device < DEVICES) {
        now.process[now.processes++] = p;
        *(now.last[p.device] ? &now.process[now.last[p.device] - 1].next : &now.first[p.device]) = now.processes;
        now.last[p.device] = now.processes;
    } else if (sscanf(text, "sample %u %u %llu %u", &s.device, &s.pid, &s.time, &s.sm) == 4 && now.samples < ENTRIES) {
        now.sample[now.samples++] = s;
    } else if (sscanf(text, "fail %63s %d %d", f.function, &f.code, &f.device) >= 2 && now.failures < 64) {
        now.failure[now.failures++] = f;
    } else if (sscanf(text, "claim %63s %u", c.function, &c.count) == 2 && now.claims < 8) {
        now.claim[now.claims++] = c;
    } else if (sscanf(text, "hang %63s %511s", h.function, h.file) == 2 && now.hangs < 8) {
        now.hang[now.hangs++] = h;
    }
    sscanf(text, "driver %79s", now.driver);
    sscanf(text, "stride %u", &now.stride);
    sscanf(text, "capacity %u", &now.capacity);
    sscanf(text, "extra %u", &now.extra);
    now.cached |= !strncmp(text, "cached", 6);
}

static void read_file(void) {
    char text[TEXT * 2];
    FILE *file = beside("nvml.txt", "r");
    memset(&now, 0, sizeof now);
    now.stride = 24;
    strcpy(now.driver, "550.54.15");
    while (file && fgets(text, sizeof text, file)) {
        line(text);
    }
    if (file) {
        fclose(file);
    }
}

/* Begins each call, and returns the error that was asked for. */
static int begin(const char *function, int device) {
    if (!now.cached || !strcmp(function, "nvmlInit_v2")) {
        read_file();
    }
    FILE *calls = now.cached ? NULL : beside("nvml.calls", "r+");
    if (calls) {
        fseek(calls, 0, SEEK_END);
        fprintf(calls, "%s\n", function);
        fclose(calls);
    }
    for (int i = 0; i < now.hangs; i++) {
        while (!strcmp(now.hang[i].function, function) && access(now.hang[i].file, F_OK)) {
            usleep(1000);
        }
    }
    for (int i = 0; i < now.failures; i++) {
        if (!strcmp(now.failure[i].function, function) && (now.failure[i].device < 0 || now.failure[i].device == device)) {
            return now.failure[i].code;
        }
    }
    return initialized || !strcmp(function, "nvmlInit_v2") ? 0 : 1;
}

static unsigned claimed(const char *function, unsigned count) {
    for (int i = 0; i < now.claims; i++) {
        if (!strcmp(now.claim[i].function, function)) {
            return now.claim[i].count;
        }
    }
    return count;
}
