#include "family_helper.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char family_folder[256];

const char product_rows[] =
    "type T = {f32, f16};\n"
    "tune BM = {16, 8, 32};\n"
    "tune WARPS = {1, 2};\n"
    "kernel %s(i32 m, static i32 n, static i32 k, const T *a, const T *b, T *c)\n"
    "    grid(cdiv(m, BM), cdiv(n, 16)) warps(WARPS)\n"
    "{\n"
    "    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    i32 i = block.x * BM, j = block.y * 16;\n"
    "    reg f32 acc[BM][16] = 0;\n"
    "    for (i32 p = 0; p < k; p += 8) {\n"
    "        reg T ra[BM][8] = A[i +: BM][p +: 8], rb[8][16] = B[p +: 8][j +: 16];\n"
    "        acc += dot(ra, rb);\n"
    "    }\n"
    "    C[i +: BM][j +: 16] = (T) acc;\n"
    "    ensures C == dot(A, B);\n"
    "}\n";

const char product_columns[] =
    "type T = {f16, f32};\n"
    "tune BN = {32, 16};\n"
    "kernel %s(i32 m, i32 n, i32 k, const T *a, const T *b, T *c)\n"
    "    grid(cdiv(n, BN), cdiv(m, 8)) warps(1)\n"
    "{\n"
    "    global T X[m][k] = a, Y[k][n] = b;\n"
    "    global T Z[m][n] = c;\n"
    "    i32 i = block.y * 8, j = block.x * BN;\n"
    "    reg f32 acc[8][BN] = 0;\n"
    "    for (i32 p = 0; p < k; p += 16) {\n"
    "        reg T rx[8][16] = X[i +: 8][p +: 16], ry[16][BN] = Y[p +: 16][j +: BN];\n"
    "        acc += dot(rx, ry);\n"
    "    }\n"
    "    Z[i +: 8][j +: BN] = (T) acc;\n"
    "    ensures Z == dot(X, Y);\n"
    "}\n";

void family_folder_make(void)
{
    snprintf(family_folder, sizeof family_folder, "/tmp/tilewright_family_XXXXXX");
    assert_non_null(mkdtemp(family_folder));
}

void family_folder_remove(void)
{
    DIR *folder = opendir(family_folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            assert_int_equal(unlink(file_path(entry->d_name)), 0);
    closedir(folder);
    assert_int_equal(rmdir(family_folder), 0);
}

int family_setup(void **state)
{
    family_folder_make();
    return api_setup(state);
}

int family_teardown(void **state)
{
    family_folder_remove();
    return api_teardown(state);
}

const char *file_path(const char *name)
{
    static char paths[4][600];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", family_folder, name);
    return path;
}

void put_file(const char *name, const char *format, ...)
{
    FILE *file = fopen(file_path(name), "w");
    va_list args;
    assert_non_null(file);
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fclose(file);
}
