#!/bin/sh
# own_environment.sh [NAME=VALUE]… COMMAND [ARGUMENT]…: runs a test's command in an environment of its own.
#
# A test sees the variables that the suite gives it and, of the caller's, only those below: the paths of programs, libraries
# and temporary files, and the options of sanitizers. So a test does not depend on the user's environment: not on
# OPENBLAS_CORETYPE, a locale, HOME, or TILEWRIGHT_* variables.
for name in PATH LD_LIBRARY_PATH TMPDIR CUDA_VISIBLE_DEVICES ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS GCOV_PREFIX; do
    eval "value=\${$name-}"
    [ -z "$value" ] || set -- "$name=$value" "$@"
done
# A NumPy that was installed for one user lies below the real HOME.
[ -z "${HOME-}" ] || set -- "PYTHONUSERBASE=${PYTHONUSERBASE:-$HOME/.local}" "$@"
exec env -i "$@"
