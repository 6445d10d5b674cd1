/* Children: there are none. */
#ifndef TW_POSIX_SYS_WAIT_H
#define TW_POSIX_SYS_WAIT_H

#include <signal.h>

enum { WNOHANG = 1, WEXITED = 4, WNOWAIT = 0x1000000 };
typedef enum { P_ALL, P_PID } idtype_t;
#define WIFEXITED(status) (((status)&0x7f) == 0)
#define WEXITSTATUS(status) (((status) >> 8) & 0xff)

pid_t waitpid(pid_t child, int *status, int flags);
int waitid(idtype_t kind, id_t child, siginfo_t *out, int flags);

#endif
