/* Names the main() of each test file of a folder as CMakeLists.txt compiles it. This header
 * precedes each of them. */
#ifndef TILEWRIGHT_TESTS_MAIN_H
#define TILEWRIGHT_TESTS_MAIN_H

#define TEST(name) int main_of_##name(void);
#include "tests_list.def"
#undef TEST

#endif
