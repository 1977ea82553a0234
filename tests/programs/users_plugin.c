/* A profiler plugin for NCCL that a user has: versions 3 and 5. */
struct plugin { const char *name; };

extern const struct plugin ncclProfiler_v3, ncclProfiler_v5;
const struct plugin ncclProfiler_v3 = {"the user's"}, ncclProfiler_v5 = {"the user's"};
