#!/usr/bin/env bash
# Makes sure that what `make demo` and `make test` need is on this machine: Debian or Ubuntu with a
# Rust toolchain. Quick when everything is there; as root it installs what is missing, otherwise it
# says what is missing and leaves it to you.
#
#   scripts/setup.sh demo     a mounted volume, and ext4 beside it
#   scripts/setup.sh test     also the programs that the tests run on a volume
set -euo pipefail

purpose=${1:-test}

# package, and the command or file by which it is known to be there
demo=(
    "fuse3 fusermount3"
    "e2fsprogs mkfs.ext4"
    "mount losetup"
    "xz-utils xz"
    "gcc cc"
)
test=(
    "attr setfattr"
    "acl setfacl"
    "xfsprogs mkfs.xfs"
    "btrfs-progs mkfs.btrfs"
    "rsync rsync"
    "git git"
    "sqlite3 sqlite3"
    "postgresql /usr/lib/postgresql/*/bin/initdb"
    "make make"
    "util-linux flock"
    "python3 python3"
    "psmisc fuser"
    "procps pgrep"
)
# Wanted, not needed: there are other trees to copy, and not every release has this one; the lab
# says which file systems it has to leave out.
wanted=("linux-source-6.1 /usr/src/linux-source-6.1.tar.xz")
if [[ $purpose == test ]]; then
    wanted+=(
        "chromium-headless-shell chromium-headless-shell"
        "user-mode-linux linux.uml"
        "jfsutils mkfs.jfs"
        "reiserfsprogs mkreiserfs"
        "dosfstools mkfs.vfat"
        "f2fs-tools mkfs.f2fs"
        "nilfs-tools mkfs.nilfs2"
        "ntfs-3g ntfs-3g"
        "fuse2fs fuse2fs"
    )
fi

say() { printf 'setup: %s\n' "$*" >&2; }

present() {
    case $1 in
    /*) compgen -G "$1" >/dev/null ;;
    *) PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null ;;
    esac
}

missing_of() {
    local entry
    for entry in "$@"; do
        present "${entry#* }" || printf '%s\n' "${entry%% *}"
    done
}

needed=("${demo[@]}")
if [[ $purpose == test ]]; then needed+=("${test[@]}"); fi
mapfile -t missing < <(missing_of "${needed[@]}")
mapfile -t optional < <(missing_of "${wanted[@]}")

apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >&2; }

if ((${#missing[@]} + ${#optional[@]} > 0)); then
    if ((EUID == 0)) && command -v apt-get >/dev/null; then
        say "installing ${missing[*]} ${optional[*]}"
        apt update || say "the package lists could not be brought up to date"
        if ((${#missing[@]} > 0)); then
            apt install --yes --no-install-recommends "${missing[@]}"
        fi
        for package in "${optional[@]}"; do
            apt install --yes --no-install-recommends "$package" ||
                say "$package is not to be had here; going on without"
        done
    elif ((${#missing[@]} > 0)); then
        say "missing: ${missing[*]}"
        say "install them, as root: apt-get install ${missing[*]}"
        # A volume can do without, in a smaller demonstration; the tests say what they skip.
        present cc || exit 1
    fi
fi

if ! command -v cargo >/dev/null; then
    say "missing: a Rust toolchain, 1.87 or later (https://rustup.rs)"
    exit 1
fi

if [[ ! -e /dev/fuse ]] && ((EUID == 0)); then
    modprobe fuse 2>/dev/null || true
fi
if [[ -e /dev/fuse ]] && ((EUID == 0)) && [[ $(stat -c %a /dev/fuse) != 666 ]]; then
    say "opening /dev/fuse to everybody, as distributions have it"
    chmod 666 /dev/fuse || true
fi
if [[ ! -e /dev/fuse ]]; then
    say "no /dev/fuse: volumes cannot be mounted here, only used through the library"
fi
