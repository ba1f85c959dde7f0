#!/bin/sh
# Removes files that no process loads from a folder of installed packages: binaries for other systems, TypeScript, source maps,
# tests and builds for browsers. Manifests, READMEs and licenses stay.
#
#     sh prune-modules.sh node_modules [--types]
#
# --types keeps declarations, for programs that are compiled against the packages.
set -eu
cd "$1"
kept=${2:+*.d.*ts}

find . -type d \( -name test -o -name tests -o -name docs -o -name examples -o -name 'benchmark*' -o -name .github \) -prune -exec rm -rf {} +
find . -type f -name '*.map' -delete
# Node.js loads no TypeScript from node_modules.
find . -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' \) ! -name "$kept" -delete

arch=$(node -p process.arch)
libc=$(node -p "process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'")
find . -type f -name '*.node' ! -path "*/linux/$arch/*/$libc-*" ! -name "*.$libc.node" -delete
# Sources and compilers of the binaries; cmake-ts also finds that of zeromq.
rm -rf lmdb/dependencies lmdb/src zeromq/src cmake-ts/src
find . -type f -path './cmake-ts/build/*' ! -name 'loader.*' -delete

# Goshawk imports zod as ES modules, and loads OpenTelemetry as CommonJS.
find . -type f -path './zod/*.cjs' -delete
rm -rf @opentelemetry/*/build/esm @opentelemetry/*/build/esnext
find . -type f -path './@opentelemetry/*.mjs' -delete
find . -type f -path './@opentelemetry/semantic-conventions/dist/*' \( -name 'experimental_*' -o -name 'index-incubating.*' \) -delete
rm -rf csv-parse/dist/esm csv-parse/dist/iife csv-parse/dist/umd
find . -type f -path '*/msgpackr/dist/*' \( -name '*.min.js' -o -name index.js -o -name test.js \) -delete
find . -type d -empty -delete
