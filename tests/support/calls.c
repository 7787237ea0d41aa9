/* Calls that change files, told to a function before they are made. It lets a call pass, or fail. Preload it.

   watch(prefix, told): told(name, path, descriptor, size) is called for files whose paths begin with the prefix, and
   returns 0 to let the call pass, an errno to let it fail, or -1 to let it write the first half only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

typedef int (*told_t)(const char *, const char *, int, size_t);
static told_t told;
static char prefix[4096];
static __thread int inside; /* what `told` does itself is not told */

void watch(const char *path, told_t function) {
    strncpy(prefix, path, sizeof prefix - 1);
    told = function;
}

static int ask(const char *name, const char *path, int descriptor, size_t size) {
    if (!told || inside || strncmp(path, prefix, strlen(prefix))) return 0;
    inside = 1;
    int answer = told(name, path, descriptor, size);
    inside = 0;
    return answer;
}

static int ask_open(const char *name, int descriptor, size_t size) {
    char link[64], path[4096];
    if (!told || inside) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return ask(name, path, descriptor, size);
}

static int ask_at(const char *name, int folder, const char *path) {
    char link[64], full[8192];
    if (!told || inside) return 0;
    if (path[0] == '/' || folder == AT_FDCWD) return ask(name, path, -1, 0);
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, full, 4095);
    if (length < 0) return 0;
    snprintf(full + length, sizeof full - length, "/%s", path);
    return ask(name, full, -1, 0);
}

#define NEXT(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define REFUSE(answer, failure) do { int no = (answer); if (no) { errno = no < 0 ? EIO : no; return failure; } } while (0)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        NEXT(name); \
        if (flags & (O_WRONLY | O_RDWR | O_CREAT)) REFUSE(ask("open", path, -1, 0), -1); \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        NEXT(name); \
        if (flags & (O_WRONLY | O_RDWR | O_CREAT)) REFUSE(ask_at("open", folder, path), -1); \
        return real(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name) \
    FILE *name(const char *path, const char *mode) { \
        NEXT(name); \
        if (mode[0] != 'r') REFUSE(ask("open", path, -1, 0), NULL); \
        return real(path, mode); \
    }
FOPEN(fopen)
FOPEN(fopen64)

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    NEXT(fwrite);
    int answer = ask_open("write", fileno(file), size * count);
    if (answer < 0) { real(data, size, count / 2, file); answer = ENOSPC; }
    REFUSE(answer, 0);
    return real(data, size, count, file);
}

ssize_t write(int file, const void *data, size_t size) {
    NEXT(write);
    int answer = ask_open("write", file, size);
    if (answer < 0) return real(file, data, size > 1 ? size / 2 : size);
    REFUSE(answer, -1);
    return real(file, data, size);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    NEXT(writev);
    int answer = ask_open("write", file, 1);
    if (answer < 0) return real(file, parts, count > 1 ? count / 2 : count);
    REFUSE(answer, -1);
    return real(file, parts, count);
}

#define PWRITE(name, offset_t) \
    ssize_t name(int file, const void *data, size_t size, offset_t at) { \
        NEXT(name); \
        int answer = ask_open("write", file, size); \
        if (answer < 0) return real(file, data, size > 1 ? size / 2 : size, at); \
        REFUSE(answer, -1); \
        return real(file, data, size, at); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define OF_FILE(name) \
    int name(int file) { NEXT(name); REFUSE(ask_open("fsync", file, 0), -1); return real(file); }
OF_FILE(fsync)
OF_FILE(fdatasync)

#define OF_PATH(name) \
    int name(const char *path) { NEXT(name); REFUSE(ask(#name, path, -1, 0), -1); return real(path); }
OF_PATH(unlink)
OF_PATH(rmdir)

int unlinkat(int folder, const char *path, int flags) {
    NEXT(unlinkat);
    REFUSE(ask_at("unlink", folder, path), -1);
    return real(folder, path, flags);
}

int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    REFUSE(ask("mkdir", path, -1, 0), -1);
    return real(path, mode);
}

#define OF_TWO(name) \
    int name(const char *path, const char *second) { \
        NEXT(name); \
        REFUSE(ask(#name, second, -1, 0), -1); \
        return real(path, second); \
    }
OF_TWO(rename)
OF_TWO(link)

int renameat(int folder, const char *path, int other, const char *second) {
    NEXT(renameat);
    REFUSE(ask_at("rename", other, second), -1);
    return real(folder, path, other, second);
}

int linkat(int folder, const char *path, int other, const char *second, int flags) {
    NEXT(linkat);
    REFUSE(ask_at("link", other, second), -1);
    return real(folder, path, other, second, flags);
}

#define TRUNCATE(name, offset_t) \
    int name(int file, offset_t size) { NEXT(name); REFUSE(ask_open("write", file, 0), -1); return real(file, size); }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)
