#include "cli/page_link.h"
#include "cli/base64.h"
#include "cli/json.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

/* Limit of an address; some programs cut off longer ones. */
enum { LONGEST = 8192 };

/* Returns the page's state in the form that web/page/src/app/share.ts reads. The caller frees. */
static char *state_json(const char *file, const char *source, const char *state)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    struct json j = {.out = out};
    const char *name = strrchr(file, '/');
    json_open(&j, '{');
    json_put_text(&j, "file", name ? name + 1 : file);
    json_put_text(&j, "source", source);
    json_put_text(&j, "query", state);
    json_close(&j, '}');
    fclose(out);
    return text;
}

static void print_address(FILE *out, const char *page, const char *file, const char *state)
{
    size_t length;
    char *source = read_whole_file(file, &length);
    char *json = source ? state_json(file, source, state) : NULL;
    char *encoded = json ? base64_text(json, strlen(json), true) : NULL;
    if (encoded && strlen(page) + 2 + strlen(encoded) <= LONGEST)
        print_text(out, "        %s#0%s\n", page, encoded);
    free(encoded);
    free(json);
    free(source);
}

void page_link_print(FILE *out, const char *file, const char *state)
{
    const char *page = getenv("TILEWRIGHT_PLAY_URL");
    bool has_page = page && *page;
    if ((!on_terminal(out) && !has_page) || !ends_with(file, ".tile"))
        return;
    char *word = need_text("%s#%s", file, state);
    char *quoted = shell_word(word);
    print_text(out, "see it: tilewright play %s\n", quoted);
    free(quoted);
    free(word);
    if (has_page)
        print_address(out, page, file, state);
}
