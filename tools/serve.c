#include "serve.h"
#include "tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Browsers open connections ahead of use, so several are read at the same time. */
enum { MOST_CONNECTIONS = 32, REQUEST_BYTES = 8192, SEND_SECONDS = 10, PORTS_TRIED = 16 };

struct connection {
    int socket;
    size_t length;
    char request[REQUEST_BYTES + 1];
};

static int listen_on(int port)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0)
        return -1;
    int on = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    fcntl(s, F_SETFD, FD_CLOEXEC); /* the browser must not keep the port after the server's end */
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (bind(s, (struct sockaddr *)&at, sizeof at) == 0 && listen(s, MOST_CONNECTIONS) == 0)
        return s;
    int error = errno;
    close(s);
    errno = error;
    return -1;
}

int serve_listen(int *port)
{
    int s = -1;
    if (*port >= 0)
        s = listen_on(*port);
    else
        for (int i = 0; i < PORTS_TRIED && s < 0; i++)
            s = listen_on(SERVE_PORT + i);
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    if (s >= 0 && getsockname(s, (struct sockaddr *)&at, &size) == 0)
        *port = ntohs(at.sin_port);
    return s;
}

static const char *type_of(const char *path)
{
    static const char *const types[][2] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".wasm", "application/wasm"},
        {".svg", "image/svg+xml"},
        {".json", "application/json"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ends_with(path, types[i][0]))
            return types[i][1];
    return "application/octet-stream";
}

static bool send_all(int s, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = send(s, data, length, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        length -= (size_t)n;
    }
    return true;
}

static void respond(int s, const char *status, const char *type, const char *data, size_t length,
                    bool body)
{
    char *head = need_text("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                           "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n"
                           "Connection: close\r\n\r\n",
                           status, type, length);
    if (send_all(s, head, strlen(head)) && body)
        send_all(s, data, length);
    free(head);
}

static void respond_text(int s, const char *status, const char *text)
{
    respond(s, status, "text/plain; charset=utf-8", text, strlen(text), true);
}

/* Returns the value of a header; NULL: the request does not have it. */
static const char *header_of(const char *request, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(request, "\r\n"); at; at = strstr(at, "\r\n")) {
        at += 2;
        if (strncasecmp(at, name, length) == 0 && at[length] == ':')
            return at + length + 1 + strspn(at + length + 1, " \t");
    }
    return NULL;
}

/* Tells whether the request names this machine: an address, or localhost. The page of another place can
 * let its own name lead here, and would read the kernel ("DNS rebinding"). */
static bool is_for_this_machine(const char *request)
{
    const char *host = header_of(request, "Host");
    size_t length = host ? strcspn(host, ": \t\r\n") : 0;
    return !host || *host == '[' || strspn(host, "0123456789.") == length ||
           (length == 9 && strncasecmp(host, "localhost", length) == 0);
}

/* The path of a request from the page's folder, in place: without query, "index.html" for "/". Files of the
 * page have plain names, so nothing is decoded. */
static char *path_of(char *target)
{
    target[strcspn(target, "?#")] = 0;
    if (*target == '/')
        target++;
    return *target ? target : (char *)"index.html";
}

static void answer(struct connection *c, struct page *p, void (*refresh)(void *, struct page *),
                   void *user)
{
    if (!is_for_this_machine(c->request)) {
        respond_text(c->socket, "421 Misdirected Request",
                     "this server is for http://127.0.0.1 and http://localhost\n");
        return;
    }
    char *end = strpbrk(c->request, "\r\n");
    if (end)
        *end = 0;
    char *target = strchr(c->request, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
    if (!target || !version) {
        respond_text(c->socket, "400 Bad Request", "bad request\n");
        return;
    }
    *target++ = *version = 0;
    bool head = strcmp(c->request, "HEAD") == 0;
    if (!head && strcmp(c->request, "GET") != 0) {
        respond_text(c->socket, "405 Method Not Allowed", "only GET and HEAD\n");
        return;
    }
    const char *path = path_of(target);
    if (refresh && strcmp(path, "index.html") == 0)
        refresh(user, p);
    const struct page_file *f = page_find(p, path);
    if (f)
        respond(c->socket, "200 OK", type_of(path), f->data, f->length, !head);
    else
        respond_text(c->socket, "404 Not Found", "there is no such file\n");
}

/* Reads what has come. Returns true when the connection is done with. */
static bool read_request(struct connection *c, struct page *p,
                         void (*refresh)(void *, struct page *), void *user)
{
    ssize_t n = recv(c->socket, c->request + c->length, REQUEST_BYTES - c->length, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (n <= 0)
        return true;
    c->length += (size_t)n;
    c->request[c->length] = 0;
    if (strstr(c->request, "\r\n\r\n")) {
        answer(c, p, refresh, user);
        return true;
    }
    if (c->length < REQUEST_BYTES)
        return false;
    respond_text(c->socket, "431 Request Header Fields Too Large", "the request is too long\n");
    return true;
}

static void take_connection(int listener, struct connection **list, int *count)
{
    int s = accept(listener, NULL, NULL);
    if (s < 0)
        return;
    if (*count == MOST_CONNECTIONS) { /* the oldest one waits for nothing */
        close(list[0]->socket);
        free(list[0]);
        memmove(list, list + 1, (size_t)(--*count) * sizeof *list);
    }
    struct timeval patience = {.tv_sec = SEND_SECONDS};
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    list[*count] = need_memory(sizeof **list);
    list[(*count)++]->socket = s;
}

void serve_forever(int listener, struct page *p, void (*refresh)(void *user, struct page *p),
                   void *user)
{
    struct connection *list[MOST_CONNECTIONS];
    int count = 0;
    for (;;) {
        struct pollfd polled[MOST_CONNECTIONS + 1] = {{.fd = listener, .events = POLLIN}};
        for (int i = 0; i < count; i++)
            polled[i + 1] = (struct pollfd){.fd = list[i]->socket, .events = POLLIN};
        if (poll(polled, (nfds_t)count + 1, -1) < 0)
            continue;
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (polled[i + 1].revents && read_request(list[i], p, refresh, user)) {
                close(list[i]->socket);
                free(list[i]);
            } else {
                list[kept++] = list[i];
            }
        }
        count = kept;
        if (polled[0].revents)
            take_connection(listener, list, &count);
    }
}
