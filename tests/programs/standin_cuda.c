/* Stands in for CUDA's driver (libcuda) and NVIDIA's management library, where UCX shall find a driver and there is no GPU: two devices, whose memory is
 * the host's. What UCX does with it is real: it asks what a pointer is, chooses protocols for that memory, and has it copied. There is
 * no way from one process into the device memory of another. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DEVICES = 2, MOST = 4096 };
enum { INVALID_VALUE = 1, NOT_FOUND = 500, NOT_SUPPORTED = 801 };
/* CUpointer_attribute. */
enum { CONTEXT = 1, MEMORY_TYPE = 2, SYNC_MEMOPS = 6, BUFFER_ID = 7, IS_MANAGED = 8, DEVICE_ORDINAL = 9, IPC_CAPABLE = 10 };
enum { RANGE_START = 11, RANGE_SIZE = 12, MAPPED = 13, MEMPOOL = 17 };
/* CUdevice_attribute. */
enum { PCI_BUS = 33, PCI_DEVICE = 34, UNIFIED_ADDRESSING = 41, CAPABILITY_MAJOR = 75 };

typedef unsigned long long Pointer;

static struct allocation {
    Pointer begin;
    size_t bytes;
    int device;
} allocations[MOST];
static int allocated;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int contexts[DEVICES];
static __thread int *current[64];
static __thread int depth;

static int device_of(const void *context)
{
    return context == &contexts[1];
}

static struct allocation find(Pointer pointer)
{
    struct allocation found = {0, 0, -1};
    pthread_mutex_lock(&lock);
    for (int i = 0; i < allocated; i++)
        if (pointer - allocations[i].begin < allocations[i].bytes)
            found = allocations[i];
    pthread_mutex_unlock(&lock);
    return found;
}

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *version) { return *version = 12040, 0; }
int cuDeviceGetCount(int *count) { return *count = DEVICES, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *name, int bytes, int device) { return snprintf(name, (size_t)bytes, "stand-in %d", device), 0; }
int cuDeviceGetUuid(char *uuid, int device) { return memset(uuid, 7 + device, 16), 0; }
int cuDeviceGetUuid_v2(char *uuid, int device) { return cuDeviceGetUuid(uuid, device); }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = (size_t)1 << 34, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == CAPABILITY_MAJOR ? 9 : attribute == PCI_BUS ? 1 + device : attribute == UNIFIED_ADDRESSING;
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { return (void)device, *flags = 0, *active = 1, 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &contexts[device], 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device < 0; }
int cuCtxGetCurrent(void **context) { return *context = depth ? current[depth - 1] : &contexts[0], 0; }
int cuCtxGetDevice(int *device)
{
    void *context;
    cuCtxGetCurrent(&context);
    return *device = device_of(context), 0;
}
int cuCtxGetId(void *context, unsigned long long *id) { return *id = 1 + (unsigned)device_of(context), 0; }
int cuCtxPushCurrent_v2(void *context) { return depth < 64 ? (current[depth++] = context, 0) : INVALID_VALUE; }
int cuCtxPopCurrent_v2(void **context)
{
    void *top;
    cuCtxGetCurrent(&top);
    depth -= depth > 0;
    return context ? (*context = top, 0) : 0;
}
int cuCtxSetCurrent(void *context) { return depth -= depth > 0, cuCtxPushCurrent_v2(context); }
int cuCtxSynchronize(void) { return 0; }

int cuMemAlloc_v2(Pointer *pointer, size_t bytes)
{
    void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int device;
    cuCtxGetDevice(&device);
    pthread_mutex_lock(&lock);
    int fits = place != MAP_FAILED && allocated < MOST;
    if (fits)
        allocations[allocated++] = (struct allocation){(Pointer)(uintptr_t)place, bytes, device};
    pthread_mutex_unlock(&lock);
    *pointer = (Pointer)(uintptr_t)place;
    /* As CUPTI would: of standin_cupti.c, where that is loaded. */
    void (*told)(uint64_t, uint64_t) = (void (*)(uint64_t, uint64_t))dlsym(RTLD_DEFAULT, "standin_told");
    if (fits && told)
        told(*pointer, bytes);
    return fits ? 0 : 2;
}
int cuMemFree_v2(Pointer pointer)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < allocated; i++)
        if (allocations[i].begin == pointer) {
            munmap((void *)(uintptr_t)pointer, allocations[i].bytes);
            allocations[i] = allocations[--allocated];
        }
    pthread_mutex_unlock(&lock);
    return 0;
}
int cuMemGetAddressRange_v2(Pointer *begin, size_t *bytes, Pointer pointer)
{
    struct allocation found = find(pointer);
    if (found.device < 0)
        return INVALID_VALUE;
    if (begin)
        *begin = found.begin;
    if (bytes)
        *bytes = found.bytes;
    return 0;
}

static int tell(void *value, int attribute, struct allocation of)
{
    switch (attribute) {
    case CONTEXT: return *(void **)value = &contexts[of.device], 0;
    case MEMORY_TYPE: return *(unsigned *)value = 2, 0;
    case SYNC_MEMOPS: case MAPPED: return *(int *)value = 1, 0;
    case IS_MANAGED: case IPC_CAPABLE: return *(int *)value = 0, 0;
    case DEVICE_ORDINAL: return *(int *)value = of.device, 0;
    case BUFFER_ID: case RANGE_START: return *(Pointer *)value = of.begin, 0;
    case RANGE_SIZE: return *(size_t *)value = of.bytes, 0;
    case MEMPOOL: return *(void **)value = NULL, 0;
    default: return INVALID_VALUE;
    }
}
int cuPointerGetAttribute(void *value, int attribute, Pointer pointer)
{
    struct allocation found = find(pointer);
    return found.device < 0 ? INVALID_VALUE : tell(value, attribute, found);
}
/* Where it knows nothing it says so by zeros, and succeeds. */
int cuPointerGetAttributes(unsigned count, int *attributes, void **values, Pointer pointer)
{
    struct allocation found = find(pointer);
    for (unsigned i = 0; i < count; i++)
        if (found.device >= 0)
            tell(values[i], attributes[i], found);
        else if (attributes[i] == CONTEXT)
            *(void **)values[i] = NULL;
        else if (attributes[i] == DEVICE_ORDINAL)
            *(int *)values[i] = -2;
        else if (attributes[i] == MEMORY_TYPE || attributes[i] == IS_MANAGED)
            *(int *)values[i] = 0;
    return 0;
}
int cuPointerSetAttribute(const void *value, int attribute, Pointer pointer) { return (void)value, (void)attribute, find(pointer).device < 0; }

static int handle;
int cuStreamCreate(void **stream, unsigned flags) { return (void)flags, *stream = &handle, 0; }
int cuStreamDestroy_v2(void *stream) { return stream != &handle; }
int cuStreamSynchronize(void *stream) { return (void)stream, 0; }
int cuStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data, unsigned flags)
{
    return callback(stream, 0, data), (int)flags;
}
int cuEventCreate(void **event, unsigned flags) { return (void)flags, *event = &handle, 0; }
int cuEventDestroy_v2(void *event) { return event != &handle; }
int cuEventRecord(void *event, void *stream) { return (void)stream, event != &handle; }
int cuEventQuery(void *event) { return event != &handle; }

static int copied(Pointer to, Pointer from, size_t bytes) { return memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes), 0; }
int cuMemcpyAsync(Pointer to, Pointer from, size_t bytes, void *stream) { return (void)stream, copied(to, from, bytes); }
int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void *stream) { return (void)stream, copied(to, from, bytes); }
int cuMemcpyHtoD_v2(Pointer to, const void *from, size_t bytes) { return copied(to, (Pointer)(uintptr_t)from, bytes); }
int cuMemcpyDtoH_v2(void *to, Pointer from, size_t bytes) { return copied((Pointer)(uintptr_t)to, from, bytes); }
int cuMemHostRegister_v2(void *begin, size_t bytes, unsigned flags) { return (void)begin, (void)bytes, (void)flags, 0; }
int cuMemHostUnregister(void *begin) { return (void)begin, 0; }

int cuGetErrorString(int error, const char **text) { return (void)error, *text = "stand-in", 0; }
int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *status)
{
    char newer[128];
    (void)version, (void)flags;
    snprintf(newer, sizeof newer, "%s_v2", name);
    /* It is opened with RTLD_LOCAL. */
    Dl_info own;
    void *library = dladdr((void *)cuInit, &own) ? dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    *function = library ? dlsym(library, newer) : NULL;
    if (library && !*function)
        *function = dlsym(library, name);
    if (status)
        *status = *function == NULL;
    return *function ? 0 : NOT_FOUND;
}

/* UCX needs them to be loaded at all. */
#define LACKS(name) \
    int name(void) { return NOT_SUPPORTED; }
LACKS(cuIpcCloseMemHandle) LACKS(cuIpcGetMemHandle) LACKS(cuIpcOpenMemHandle_v2) LACKS(cuMemAddressFree) LACKS(cuMemAddressReserve)
LACKS(cuMemAllocManaged) LACKS(cuMemCreate) LACKS(cuMemExportToShareableHandle) LACKS(cuMemGetAllocationGranularity)
LACKS(cuMemGetAllocationPropertiesFromHandle) LACKS(cuMemImportFromShareableHandle) LACKS(cuMemMap) LACKS(cuMemPoolDestroy)
LACKS(cuMemPoolExportPointer) LACKS(cuMemPoolExportToShareableHandle) LACKS(cuMemPoolImportFromShareableHandle)
LACKS(cuMemPoolImportPointer) LACKS(cuMemPoolSetAccess) LACKS(cuMemRangeGetAttribute) LACKS(cuMemRelease)
LACKS(cuMemRetainAllocationHandle) LACKS(cuMemSetAccess) LACKS(cuMemUnmap)

/* libnvidia-ml: there is none to be asked. */
int nvmlInit_v2(void) { return 999; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int error) { return (void)error, "stand-in"; }
