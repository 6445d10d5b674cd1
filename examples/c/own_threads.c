/* Runs a launch on the program's own threads. An engine passes the tasks to its pool; this one
 * starts a thread for each task but one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright.h>

static const char text[] =
    "kernel squares(i32 n, i32 *y) grid(n) warps(1)\n"
    "{   global i32 Y[n] = y;\n"
    "    Y[block.x] = block.x * block.x;}\n";

enum { THREADS = 4, N = 10000 };
static int32_t y[N];
struct call { /* of a task */
    void (*task)(void *, int);
    void *argument;
    int index;
};

static void *run_task(void *user)
{
    struct call *c = user;
    return c->task(c->argument, c->index), NULL;
}

static void run_tasks(void *user, int tasks, void (*task)(void *, int), void *argument)
{
    pthread_t threads[THREADS];
    struct call calls[THREADS];
    for (int i = 1; i < tasks; i++) {
        calls[i] = (struct call){task, argument, i};
        if (pthread_create(&threads[i], NULL, run_task, &calls[i]) != 0)
            exit(1);
    }
    task(argument, 0);
    for (int i = 1; i < tasks; i++)
        pthread_join(threads[i], NULL);
    *(int *)user = tasks;
}

int main(void)
{
    int ran = 0;
    tw_config config = {.size = sizeof config, .threads = THREADS, .parallel = run_tasks};
    config.parallel_user = &ran;
    tw_context *ctx;
    tw_module *module;
    tw_launch *l;
    tw_context_new(&config, &ctx);
    if (tw_module_from_text(ctx, "squares", text, strlen(text), &module) != TW_OK)
        return fputs(tw_context_messages(ctx), stderr), 1;
    tw_launch_new(tw_module_kernel_at(module, 0), &l);
    tw_launch_array(l, "y", &tw_host_array(y, TW_I32, N));
    tw_status status = tw_launch_run(l);
    printf("%d tasks: %s; y[99] = %d\n", ran, tw_status_text(status), y[99]);
    tw_context_free(ctx);
    return status != TW_OK;
}
