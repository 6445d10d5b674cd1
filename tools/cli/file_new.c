#include "cli/file_new.h"
#include "cli/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int file, const char *text)
{
    size_t length = strlen(text), done = 0;
    while (done < length) {
        ssize_t n = write(file, text + done, length - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Gives the file its name, unless that is taken. If the file system has no links, uses
 * rename(2); then another process may take the name at the last moment. */
static enum file_written name_file(const char *beside, const char *path)
{
    if (link(beside, path) == 0)
        return FILE_WRITTEN;
    if (errno == EEXIST)
        return FILE_WAS_THERE;
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS && errno != EMLINK)
        return FILE_FAILED;
    if (access(path, F_OK) == 0)
        return FILE_WAS_THERE;
    return rename(beside, path) == 0 ? FILE_WRITTEN : FILE_FAILED;
}

enum file_written file_write_new(const char *path, const char *text)
{
    if (access(path, F_OK) == 0)
        return FILE_WAS_THERE;
    char *beside = need_text("%s.XXXXXX", path);
    enum file_written done = FILE_FAILED;
    int file = mkstemp(beside);
    if (file >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        bool ok = write_all(file, text) && fchmod(file, 0666 & ~mask) == 0;
        ok = close(file) == 0 && ok;
        if (ok)
            done = name_file(beside, path);
        int error = errno;
        unlink(beside);
        errno = error;
    }
    free(beside);
    return done;
}

bool folder_is_missing(const char *folder)
{
    if (access(folder, F_OK) == 0 || errno != ENOENT)
        return false;
    char *word = shell_word(folder);
    complain(NULL, "there is no folder `%s`: make it first (mkdir -p %s)", folder, word);
    free(word);
    return true;
}
