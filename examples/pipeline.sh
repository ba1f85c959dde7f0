#!/bin/sh
# A pipeline of commands: one task per file counts words in the cluster, and the next command adds up the counts.
#
#     goshawk up                                    # in one terminal
#     sh examples/pipeline.sh README.md LICENSE     # in another
set -eu
goshawk=${GOSHAWK:-goshawk}

# Each file has a task, which prints a count. `submit` prints the id of the job at once.
id=$(printf '%s\n' "$@" | $goshawk submit --name words --each-line - --shell -- 'wc -w < "$1"' {})

# Waits, and fails unless all tasks completed.
$goshawk wait "$id" >&2

# The output of the tasks is the input of the next command, here or in another job.
$goshawk logs "$id" --prefix never | awk '{ words += $1 } END { print words " words in " NR " files" }'
