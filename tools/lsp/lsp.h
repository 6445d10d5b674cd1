/* The language server: documents, their check results, and the thread that checks them.
 *
 *   cmd_lsp.c          the session: messages in, answers out, documents
 *   lsp_analysis.c     a thread that compiles and checks the newest text of a document
 *   lsp_diagnostics.c  its results in the protocol's form: diagnostics, quick fixes
 *   lsp_answers.c      hover, definition, outline, formatting
 *   lsp_complete.c     completion
 *   lsp_imports.c      the files that a document imports
 *
 * The session's thread answers from the text alone, with a context of its own. It shares the
 * documents with the checking thread, under `lock`. The checking thread works on a copy, and
 * stops as soon as there is a newer text. */
#ifndef TW_LSP_H
#define TW_LSP_H

#include "lsp/lsp_connection.h"
#include "lsp/lsp_text.h"
#include "tilewright_look.h"

#include <pthread.h>
#include <stdatomic.h>

struct lsp_note {
    struct lsp_span at;
    char *text;
};
struct lsp_fix {
    struct lsp_span at;
    char *insert;
};
/* Message about a part of the text. */
struct lsp_finding {
    tw_severity severity;
    tw_code code;
    struct lsp_span at;
    char *text;  /* with the notes that have no other place */
    char *title; /* of its fix; NULL: it has none */
    struct lsp_note *notes;
    int note_count;
    struct lsp_fix *fixes;
    int fix_count;
};
/* Fact for hover, from a kernel's compilation for the device. */
struct lsp_fact {
    char *kernel;
    char *tile;       /* NULL: of the kernel */
    int line, column; /* of an access, as the library counts; 0: none */
    char *text;
};
struct lsp_results {
    struct lsp_finding *findings;
    int finding_count;
    struct lsp_fact *facts;
    int fact_count;
};

struct lsp_document {
    char *uri, *path;
    struct lsp_text text;
    int version;    /* the editor's; -1: not given */
    long revision;  /* of the text; unique in a session */
    bool waits;     /* for the checking thread */
    double changed; /* time, on the clock of seconds_now */
    long checked;   /* the revision that `results` are for; 0: none */
    struct lsp_results results;
    struct lsp_document *next;
};

struct lsp {
    pthread_mutex_t lock;
    pthread_cond_t news; /* a text to check, or results, or the end */
    struct lsp_document *documents;
    long revisions;
    char *device;         /* for layouts and costs: "sm_90" */
    char *import_folders; /* searched for imported files; separated by ':' */
    bool ends;
    struct lsp_document *under_way; /* the document in the checking thread */
    atomic_bool cancel;             /* stops the checking thread's present work */
    tw_context *ctx;                /* of the session's thread */
};

/* --- lsp_analysis.c --- */

/* Runs the checking thread until lsp.ends; the argument is a struct lsp *. */
void *lsp_check_documents(void *lsp);
void lsp_results_free(struct lsp_results *r);

/* --- lsp_diagnostics.c --- */

/* Publishes the document's diagnostics. */
void lsp_publish(const struct lsp_document *d);
/* Adds the protocol's "range": …. */
void lsp_put_range(struct json *j, const char *key, const struct lsp_text *t, struct lsp_span at);
void lsp_answer_fixes(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                      const struct json_value *params);

/* --- lsp_answers.c and lsp_complete.c --- */

/* Each answers one request about a document; `offset` is the requested place. */
void lsp_answer_hover(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                      size_t offset);
void lsp_answer_definition(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                           size_t offset);
void lsp_answer_outline(struct lsp *l, const struct lsp_document *d, const struct json_value *id);
void lsp_answer_formatting(struct lsp *l, const struct lsp_document *d,
                           const struct json_value *id);
void lsp_answer_completion(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                           size_t offset);

/* --- lsp_imports.c --- */

struct lsp_imported {
    char *path;
    struct lsp_text text;
};
/* An import in a document: its quoted file name, and the file. */
struct lsp_import_line {
    struct lsp_span at;
    char *path;
};
/* Finds the imports of a text. Returns their number; the caller frees *lines. */
int lsp_import_lines(tw_context *ctx, const char *path, const struct lsp_text *t,
                     struct lsp_import_line **lines);
void lsp_import_lines_free(struct lsp_import_line *lines, int count);
struct lsp_imports {
    struct lsp_import_line *lines; /* the document's own */
    int line_count;
    struct lsp_imported *files; /* that the document imports, and those that these import */
    int count;
};
/* Finds and reads them; leaves out files that do not exist. The caller frees with
 * lsp_imports_free. */
struct lsp_imports lsp_imports_of(struct lsp *l, const struct lsp_document *d);
void lsp_imports_free(struct lsp_imports *list);
/* Returns whether a file that imports the symbol's file can use it. */
bool lsp_is_exported(const tw_symbol *s);
/* Returns the name's symbol and its file, or NULL if no imported file declares it. The symbol is
 * valid until the next call on l->ctx. */
const tw_symbol *lsp_imported_symbol(struct lsp *l, const struct lsp_imports *list,
                                     const char *word, size_t length,
                                     const struct lsp_imported **file);
/* Returns the import whose quoted file name has the offset, or NULL. */
const struct lsp_import_line *lsp_import_at(const struct lsp_imports *list, size_t offset);
/* Returns the file: URI of an existing file, with its whole path. The caller frees. */
char *lsp_uri_of_path(const char *path);

/* --- words of the language: lsp_words.def, which scripts/editors.py writes --- */

enum lsp_word_kind { LSP_KEYWORD, LSP_TYPE, LSP_ATTRIBUTE, LSP_OP, LSP_VALUE };
struct lsp_word {
    const char *word;
    enum lsp_word_kind kind;
    const char *form;          /* "dot(…)": of an op */
    const char *result, *note; /* the rest of its row in the index of ops; may be "" */
};
extern const struct lsp_word lsp_words[]; /* ends with a NULL word */

#endif
