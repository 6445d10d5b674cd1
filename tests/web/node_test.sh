#!/bin/sh
# node_test.sh FILE ARGUMENTS...: runs a test under Node, where there is one that is new enough.
command -v node >/dev/null || { echo "skipped: there is no node"; exit 77; }
exec node "$@"
