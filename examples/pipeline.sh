#!/bin/sh
# A pipeline of commands: words are counted file by file in the cluster, and their sums added up when all are there.
#
#     goshawk up                                    # in one terminal
#     sh examples/pipeline.sh README.md LICENSE     # in another
set -eu
goshawk=${GOSHAWK:-goshawk}

# One task a file; each prints a count. `submit` prints the id of the job at once.
id=$(printf '%s\n' "$@" | $goshawk submit --name words --each-line - --shell -- 'wc -w < "$1"' {})

# Waits, and ends with an error unless all tasks completed.
$goshawk wait "$id" >&2

# What the tasks printed is the input of the next command, here or in another job.
$goshawk logs "$id" --prefix never | awk '{ words += $1 } END { print words " words in " NR " files" }'
