#!/bin/sh
# Removes files that no Linux process of this architecture loads from a folder of installed packages: binaries for other
# systems, declarations, source maps, and the bundles of echarts for browsers.
#
#     sh prune-modules.sh node_modules
set -eu
modules=$1
arch=$(node -p process.arch)
libc=$(node -p "process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'")

binaries=$modules/zeromq/build
find "$binaries" -mindepth 1 -maxdepth 1 -type d ! -name linux -exec rm -rf {} +
find "$binaries/linux" -mindepth 1 -maxdepth 1 ! -name "$arch" -exec rm -rf {} +
find "$binaries/linux" -type d ! -name "$libc-*" -name '*-*-Release' -exec rm -rf {} +

find "$modules/echarts" -mindepth 1 -maxdepth 1 -type d ! -name dist ! -name node_modules -exec rm -rf {} +
find "$modules/echarts/dist" -type f ! -name echarts.js -delete
find "$modules" -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
# Bundlers use these builds of OpenTelemetry; Node.js uses build/src.
rm -rf "$modules"/@opentelemetry/*/build/esm "$modules"/@opentelemetry/*/build/esnext
