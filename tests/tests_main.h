/* The main() of each test file of a folder, under the name that CMakeLists.txt compiles it as. This header precedes each of them. */
#ifndef TILEWRIGHT_TESTS_MAIN_H
#define TILEWRIGHT_TESTS_MAIN_H

#define TEST(name) int main_of_##name(void);
#include "tests_list.def"
#undef TEST

#endif
