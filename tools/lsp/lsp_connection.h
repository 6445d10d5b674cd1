/* Exchanges messages of JSON-RPC 2.0 on standard input and output, with the headers of the
 * language server protocol. */
#ifndef TW_LSP_CONNECTION_H
#define TW_LSP_CONNECTION_H

#include "cli/json.h"
#include "cli/json_read.h"

enum lsp_error {
    LSP_PARSE_ERROR = -32700,
    LSP_INVALID_REQUEST = -32600,
    LSP_METHOD_NOT_FOUND = -32601,
    LSP_INVALID_PARAMS = -32602,
    LSP_NOT_INITIALIZED = -32002,
    LSP_REQUEST_FAILED = -32803
};

/* Reads the next message. Returns its text, which the caller frees, or NULL at the end of the
 * input. Skips input without a valid header, and answers it with an error. */
char *lsp_read(size_t *length);

/* Ends a message and sends it. Threads may send at the same time. */
void lsp_send(struct json *j);

/* Begins the answer to the request `id`, up to the value of "result". */
void lsp_begin_result(struct json *j, const struct json_value *id);
/* Begins a notification, up to the value of "params". */
void lsp_begin_notification(struct json *j, const char *method);
/* Answers with an error; id NULL: the request is not known. */
void lsp_send_error(const struct json_value *id, enum lsp_error code, const char *text);

#endif
