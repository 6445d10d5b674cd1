/* Files with the findings of a program. */
#ifndef TW_APP_FILES_H
#define TW_APP_FILES_H

#include "app/app.h"

/* Write the lines of findings to a file: SARIF 2.1.0; JUnit's XML, with a test case for the program's
 * status and a failed one for each finding. Return false after a complaint if they cannot. */
bool app_write_sarif(const struct app_report *r, const char *lines, const char *path);
bool app_write_junit(const struct app_report *r, const char *lines, const char *path);

#endif
