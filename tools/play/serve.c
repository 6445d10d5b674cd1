#include "play/serve.h"
#include "cli/tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* Browsers open connections in advance, so the server reads several at the same time. */
enum { MOST_CONNECTIONS = 32, REQUEST_BYTES = 8192, PORTS_TRIED = 16 };

/* Connection that reads a request, then sends the response piece by piece, so that a slow client
 * does not delay others. */
struct connection {
    int socket;
    const char *policy; /* Content-Security-Policy of each response */
    size_t length;
    char request[REQUEST_BYTES + 1];
    char *response; /* NULL: the request is incomplete */
    size_t sent, total;
};

static int listen_on(int port)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0)
        return -1;
    int on = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    fcntl(s, F_SETFD, FD_CLOEXEC); /* the browser must not keep the port after the server ends */
    fcntl(s, F_SETFL, O_NONBLOCK); /* a client may be gone before it is accepted */
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

static void respond(struct connection *c, const char *status, const char *type, const char *data,
                    size_t length, bool body)
{
    char *head = need_text("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                           "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n"
                           "%s%s%sConnection: close\r\n\r\n",
                           status, type, length, *c->policy ? "Content-Security-Policy: " : "",
                           c->policy, *c->policy ? "\r\n" : "");
    size_t before = strlen(head);
    c->total = before + (body ? length : 0);
    c->response = need_more_memory(head, c->total + 1);
    if (body)
        memcpy(c->response + before, data, length);
}

/* Sends as much as the client takes now. Returns true if the connection is finished. */
static bool send_more(struct connection *c)
{
    ssize_t n = send(c->socket, c->response + c->sent, c->total - c->sent, MSG_NOSIGNAL);
    if (n < 0)
        return errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK;
    c->sent += (size_t)n;
    return c->sent == c->total;
}

static void respond_text(struct connection *c, const char *status, const char *text)
{
    respond(c, status, "text/plain; charset=utf-8", text, strlen(text), true);
}

/* Returns the value of a header, or NULL if the request does not have it. */
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

/* Returns whether the request's Host is this machine: a loopback address, or localhost.
 * Otherwise another site could let its own name resolve to this machine and read the kernel
 * ("DNS rebinding"). */
static bool is_for_this_machine(const char *request)
{
    const char *host = header_of(request, "Host");
    size_t length = host ? strcspn(host, ": \t\r\n") : 0;
    return !host || *host == '[' || strspn(host, "0123456789.") == length ||
           (length == 9 && strncasecmp(host, "localhost", length) == 0);
}

/* Returns the path of a request relative to the page's folder, in place: without query,
 * "index.html" for "/". Files of the page have plain names, so nothing is decoded. */
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
        respond_text(c, "421 Misdirected Request",
                     "this server is for http://127.0.0.1 and http://localhost\n");
        return;
    }
    char *end = strpbrk(c->request, "\r\n");
    if (end)
        *end = 0;
    char *target = strchr(c->request, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
    if (!target || !version) {
        respond_text(c, "400 Bad Request", "bad request\n");
        return;
    }
    *target++ = *version = 0;
    bool head = strcmp(c->request, "HEAD") == 0;
    if (!head && strcmp(c->request, "GET") != 0) {
        respond_text(c, "405 Method Not Allowed", "only GET and HEAD\n");
        return;
    }
    const char *path = path_of(target);
    if (refresh && strcmp(path, "index.html") == 0)
        refresh(user, p);
    const struct page_file *f = page_find(p, path);
    if (f)
        respond(c, "200 OK", type_of(path), f->data, f->length, !head);
    else
        respond_text(c, "404 Not Found", "there is no such file\n");
}

/* Reads available bytes, and answers a complete request. Returns true if the connection is
 * finished. */
static bool read_request(struct connection *c, struct page *p,
                         void (*refresh)(void *, struct page *), void *user)
{
    ssize_t n = recv(c->socket, c->request + c->length, REQUEST_BYTES - c->length, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (n <= 0)
        return true;
    c->length += (size_t)n;
    c->request[c->length] = 0;
    if (strstr(c->request, "\r\n\r\n"))
        answer(c, p, refresh, user);
    else if (c->length == REQUEST_BYTES)
        respond_text(c, "431 Request Header Fields Too Large", "the request is too long\n");
    return c->response && send_more(c);
}

static void end_connection(struct connection *c)
{
    close(c->socket);
    free(c->response);
    free(c);
}

/* Ends the oldest connection that has not sent anything yet. Returns false if there is none. */
static bool end_idle(struct connection **list, int *count)
{
    for (int i = 0; i < *count; i++)
        if (!list[i]->response) {
            end_connection(list[i]);
            memmove(list + i, list + i + 1, (size_t)(--*count - i) * sizeof *list);
            return true;
        }
    return false;
}

/* Accepts a connection. Returns false if the system has no descriptor for it; the caller should
 * wait. */
static bool take_connection(int listener, const char *policy, struct connection **list, int *count)
{
    int s = accept(listener, NULL, NULL);
    if (s < 0) {
        bool full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return !full || end_idle(list, count);
    }
    if (*count == MOST_CONNECTIONS) { /* the oldest one goes */
        end_connection(list[0]);
        memmove(list, list + 1, (size_t)(--*count) * sizeof *list);
    }
    fcntl(s, F_SETFL, O_NONBLOCK);
    list[*count] = need_memory(sizeof **list);
    list[*count]->policy = policy;
    list[(*count)++]->socket = s;
    return true;
}

void serve_forever(int listener, struct page *p, void (*refresh)(void *user, struct page *p),
                   void *user)
{
    enum { WAIT_MILLISECONDS = 100 };
    struct connection *list[MOST_CONNECTIONS];
    char *policy = page_policy(p);
    int count = 0;
    bool takes = true; /* new connections */
    for (;;) {
        struct pollfd polled[MOST_CONNECTIONS + 1] = {
            {.fd = takes ? listener : -1, .events = POLLIN}};
        for (int i = 0; i < count; i++)
            polled[i + 1] = (struct pollfd){.fd = list[i]->socket,
                                            .events = list[i]->response ? POLLOUT : POLLIN};
        if (poll(polled, (nfds_t)count + 1, takes ? -1 : WAIT_MILLISECONDS) < 0)
            continue;
        int kept = 0;
        for (int i = 0; i < count; i++) {
            struct connection *c = list[i];
            if (polled[i + 1].revents &&
                (c->response ? send_more(c) : read_request(c, p, refresh, user)))
                end_connection(c);
            else
                list[kept++] = c;
        }
        count = kept;
        takes = !polled[0].revents || take_connection(listener, policy, list, &count);
    }
}
