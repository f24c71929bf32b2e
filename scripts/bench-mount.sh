#!/usr/bin/env bash
# Measures a mounted volume beside ext4, XFS and btrfs in the same run, all on devices in memory.
# Needs root, about 14 GiB of free memory, and linux-source-6.1 for the tree (or --tree FILE.tar).
#
#   scripts/bench-mount.sh                     the table of the main measures, medians of five
#   scripts/bench-mount.sh --only untar,rm     some of them; --help has all options
#   scripts/bench-mount.sh --big 10000,1000000 --fs tandem,ext4
#   scripts/bench-mount.sh --large 100G --fs tandem,ext4
#   scripts/bench-mount.sh --volume 10000000 --fs tandem --options cache=256M
set -euo pipefail
cd "$(dirname "$0")/.."

if ((EUID != 0)); then
    echo "bench-mount: mounting file systems on loop devices needs root" >&2
    exit 1
fi

source=/usr/src/linux-source-6.1.tar.xz
tree=/dev/shm/linux-source-6.1.tar
if [[ ! -e $tree && -e $source && " $* " != *" --tree "* ]]; then
    echo "bench-mount: decompressing $source to $tree" >&2
    xz -dc "$source" >"$tree.part"
    mv "$tree.part" "$tree"
fi

cargo build --release -p tandem --bin tandem --example mount_bench
target=${CARGO_TARGET_DIR:-target}/release
exec "$target/examples/mount_bench" --tandem "$target/tandem" "$@"
