/* The seam to the operating system, processors: how many this process may use, which ones, their
 * caches. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/platform.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* --- the share of processor time that control groups grant --- */

enum { MOST_LINE = 4096, MOST_GROUPS = 4 * MOST_LINE };

/* Reads the start of a file as text. A stream of the C library would take twice the time. */
static bool read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, size - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool read_value(const char *folder, const char *group, const char *file, char *text,
                       size_t size)
{
    char path[MOST_LINE];
    int length = snprintf(path, sizeof path, "%s%s/%s", folder, group, file);
    return length < (int)sizeof path && read_text(path, text, size);
}

/* Returns quota / period, rounded up; INT_MAX if one of them is not a positive number ("max", -1). */
static int cores_of(const char *quota, const char *period)
{
    long long of = strtoll(quota, NULL, 10), in = strtoll(period, NULL, 10);
    if (of <= 0 || in <= 0 || of / in >= INT_MAX)
        return INT_MAX;
    return (int)(of / in + (of % in != 0));
}

/* Returns the cores that one group grants. Version 2 has both numbers in one line. */
static int cores_of_group(const char *root, const char *group, bool second_version)
{
    char quota[64], period[64];
    if (second_version) {
        if (!read_value(root, group, "cpu.max", quota, sizeof quota) || !strchr(quota, ' '))
            return INT_MAX;
        return cores_of(quota, strchr(quota, ' '));
    }
    return read_value(root, group, "cpu.cfs_quota_us", quota, sizeof quota) &&
                   quota[0] != '-' && /* -1: no limit */
                   read_value(root, group, "cpu.cfs_period_us", period, sizeof period)
               ? cores_of(quota, period)
               : INT_MAX;
}

/* Returns the least number of cores that the group and the groups around it grant. The last of
 * them is the root: in a container, the process's group may be there under no other path. */
static int cores_of_groups(const char *root, char *group, bool second_version)
{
    int least = cores_of_group(root, "", second_version);
    while (group[strspn(group, "/")]) { /* "/" is the root */
        int cores = cores_of_group(root, group, second_version);
        least = cores < least ? cores : least;
        char *last = strrchr(group, '/');
        *(last ? last : group) = '\0';
    }
    return least;
}

/* Returns whether the list of controllers "cpu,cpuacct" has `cpu`. */
static bool has_cpu(const char *list)
{
    for (;; list++) {
        size_t length = strcspn(list, ",");
        if (length == 3 && memcmp(list, "cpu", 3) == 0)
            return true;
        list += length;
        if (!*list)
            return false;
    }
}

int platform_group_cores(const char *groups, const char *root)
{
    char text[MOST_GROUPS], first_version[MOST_LINE], *next = text;
    int least = INT_MAX;
    if (!read_text(groups, text, sizeof text))
        return least;
    if (snprintf(first_version, sizeof first_version, "%s/cpu", root) >= MOST_LINE)
        root = "";
    for (char *line; (line = next)[0];) { /* hierarchy:controllers:/group */
        next += strcspn(next, "\n");
        if (next[0])
            *next++ = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(++controllers, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        bool second = !controllers[0];
        int cores = INT_MAX;
        if (second || has_cpu(controllers))
            cores = cores_of_groups(second ? root : first_version, group, second);
        least = cores < least ? cores : least;
    }
    return least;
}

/* --- the processors of this process --- */

int platform_allowed_cores(void)
{
    long cores = 0;
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
#endif
    if (cores <= 0)
        cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}

int platform_cores(void)
{
    int cores = platform_allowed_cores();
#ifdef __linux__
    int granted = platform_group_cores("/proc/self/cgroup", "/sys/fs/cgroup");
    cores = granted < cores ? granted : cores;
#endif
    return cores;
}

/* Asks once, because the C library may execute CPUID many times, and a guest of a virtual machine
 * waits up to 70 microseconds for each. */
int platform_cache_ways(void)
{
    static atomic_int known;
    int ways = atomic_load(&known);
#if defined(_SC_LEVEL1_DCACHE_ASSOC)
    if (ways == 0)
        ways = (int)sysconf(_SC_LEVEL1_DCACHE_ASSOC);
#endif
    ways = ways > 0 ? ways : 8;
    atomic_store(&known, ways);
    return ways;
}

/* Linux saves tile registers only for processes that asked (Documentation/arch/x86/xstate.rst). */
bool platform_allow_tiles(void)
{
#if defined(__linux__) && defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

#ifdef __linux__
/* Reads a number; a larger one than `most` becomes `most`. Returns NULL if there is none. */
static const char *read_number(const char *text, int most, int *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return NULL;
    unsigned long value = strtoul(text, &end, 10);
    *number = value < (unsigned long)most ? (int)value : most;
    return end;
}

/* Adds the processors of "3" or "0-7" to the list. Returns the text after them; NULL if it is
 * refused, with the reason in *count. */
static const char *add_range(const char *text, const cpu_set_t *allowed, int *processors, int most,
                             int *count)
{
    int first, last;
    text = read_number(text, CPU_SETSIZE, &first);
    last = first;
    if (text && *text == '-')
        text = read_number(text + 1, CPU_SETSIZE, &last);
    if (!text || last < first || (*text && *text != ',')) {
        *count = PROCESSORS_MALFORMED;
        return NULL;
    }
    for (int i = first; i <= last; i++) {
        bool is_allowed = i < CPU_SETSIZE && CPU_ISSET((size_t)i, allowed);
        if (*count == most || !is_allowed) {
            *count = is_allowed ? PROCESSORS_TOO_MANY : PROCESSORS_NOT_ALLOWED;
            return NULL;
        }
        processors[(*count)++] = i;
    }
    return text;
}

int platform_processors(const char *list, int *processors, int most)
{
    int count = 0;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return PROCESSORS_NONE;
    if (strcmp(list, "all") == 0) {
        for (int i = 0; i < CPU_SETSIZE && count < most; i++)
            if (CPU_ISSET((size_t)i, &allowed))
                processors[count++] = i;
        return count;
    }
    while ((list = add_range(list, &allowed, processors, most, &count)) && *list)
        list++; /* a comma */
    return count;
}

void platform_bind(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}
#else
int platform_processors(const char *list, int *processors, int most)
{
    (void)list, (void)processors, (void)most;
    return PROCESSORS_NONE;
}

void platform_bind(int processor)
{
    (void)processor;
}
#endif

/* Every Mac with an AArch64 processor has them. */
bool platform_has_dot_products(void)
{
#if defined(__aarch64__) && defined(__linux__)
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
#elif defined(__aarch64__) && defined(__APPLE__)
    return true;
#else
    return false;
#endif
}
