#!/usr/bin/env bash
# Counts requests and sectors of Tandem and of the kernel's file systems on loop devices; prints
# Markdown tables. docs/locality.md says what each measure is.
# Needs root, about 7 GiB of free memory, and linux-source-6.1 for the tree (or --tree FILE.tar).
#
#   scripts/bench-locality.sh                      everything
#   scripts/bench-locality.sh --only six           one measure; --help has all options
#   scripts/bench-locality.sh age DIR --fill 80    age the file system that DIR is on
set -euo pipefail
cd "$(dirname "$0")/.."

if ((EUID != 0)) && [[ ${1:-} != age ]]; then
    echo "bench-locality: mounting file systems on loop devices needs root" >&2
    exit 1
fi

source=/usr/src/linux-source-6.1.tar.xz
tree=/dev/shm/linux-source-6.1.tar
if [[ ! -e $tree && -e $source && ${1:-} != age && " $* " != *" --tree "* ]]; then
    echo "bench-locality: decompressing $source to $tree" >&2
    xz -dc "$source" >"$tree.part"
    mv "$tree.part" "$tree"
fi

cargo build --release -p tandem --bin tandem --example locality_bench
target=${CARGO_TARGET_DIR:-target}/release
if [[ ${1:-} == age ]]; then
    exec "$target/examples/locality_bench" "$@"
fi
exec "$target/examples/locality_bench" --tandem "$target/tandem" "$@"
