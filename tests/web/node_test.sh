#!/bin/sh
# node_test.sh FILE ARGUMENTS...: runs a test under Node; ends with status 77 (skipped) if Node is
# missing.
command -v node >/dev/null || { echo "skipped: there is no node"; exit 77; }
exec node "$@"
