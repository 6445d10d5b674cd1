#!/bin/sh
# node_test.sh FILE ARGUMENTS...: runs a test under Node, if a new enough one is installed.
command -v node >/dev/null || { echo "skipped: there is no node"; exit 77; }
exec node "$@"
