//! Real programs on a mount, judged by their own checks, before and after a remount.
//!
//! With `TANDEM_TEST_DIR` set to a directory they run there instead.

mod common;

use common::program::{Output, have_all, run, sh};
use common::suite::given_dir;
use common::sys;
use common::volume::{Shape, Volume, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory on the file system, empty at the start, and the volume it is on.
struct Place {
    volume: Option<Volume>,
    dir: PathBuf,
    /// Directories elsewhere, for what is compared with.
    aside: tempfile::TempDir,
}

impl Place {
    fn new(name: &str) -> Option<Place> {
        let (volume, dir) = match given_dir() {
            Some(dir) => (None, dir.join(format!("{name}-{}", std::process::id()))),
            None if skip() => return None,
            None => {
                let volume = Volume::mounted(Shape::default());
                let dir = volume.at(name);
                (Some(volume), dir)
            }
        };
        std::fs::create_dir(&dir).unwrap();
        sys::chmod(&dir, 0o777).unwrap();
        Some(Place { volume, dir, aside: tempfile::tempdir().unwrap() })
    }

    fn aside(&self) -> &Path {
        self.aside.path()
    }

    /// Unmounts and mounts again, so that all is read from the devices.
    #[track_caller]
    fn remount(&mut self) {
        if let Some(volume) = &mut self.volume {
            volume.remount();
        }
    }

    /// Runs a script in the directory, with `$ASIDE` for the other place.
    fn sh(&self, script: &str) -> Output {
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", script])
            .current_dir(&self.dir)
            .env("ASIDE", self.aside())
            .env("HOME", self.aside())
            .env("LC_ALL", "C");
        run(&mut bash)
    }

    /// Ends with a clean check.
    #[track_caller]
    fn finish(mut self) {
        match &mut self.volume {
            Some(volume) => volume.finish(),
            None => std::fs::remove_dir_all(&self.dir).unwrap(),
        }
    }
}

#[test]
fn git() {
    let Some(mut place) = Place::new("git").filter(|_| have_all(&["git"])) else { return };
    place
        .sh(r#"
        git config --global user.name tester; git config --global user.email t@example.org
        git config --global init.defaultBranch main; git config --global gc.autoDetach false
        git init -q work; cd work
        for round in 1 2 3 4 5; do
            for i in $(seq 1 60); do
                mkdir -p "dir$((i % 7))/sub$((i % 3))"
                seq $i $((i * round + 50)) > "dir$((i % 7))/sub$((i % 3))/file$i"
            done
            ln -sf "dir1/round$round" link; chmod +x "dir0/sub1/file7"
            git add -A; git commit -q -m "round $round"
        done
        git checkout -q -b side HEAD~2; echo side > side; git add side; git commit -q -m side
        git checkout -q main; git merge -q -m merge side
        git mv dir1 moved; git commit -q -m moved; git tag done
        test -z "$(git status --porcelain)"
        git fsck --full --strict
    "#)
        .must();
    place
        .sh(r#"
        git clone -q work local; git clone -q --no-local work transported
        git clone -q --bare work bare.git; git -C local worktree add -q ../tree side
        git -C work gc -q --aggressive --prune=now; git -C work fsck --full --strict
        git -C local fsck --full --strict; git -C transported fsck --full --strict
        diff -r --no-dereference --exclude .git work local
        diff -r --no-dereference --exclude .git work transported
        test "$(git -C work rev-parse HEAD)" = "$(git -C bare.git rev-parse HEAD)"
    "#)
        .must();
    place.remount();
    place
        .sh(r#"
        for repo in work local transported; do
            test -z "$(git -C $repo status --porcelain)"; git -C $repo fsck --full --strict
        done
        git -C bare.git fsck --full --strict; git -C local pull -q
        cd work; git reset -q --hard HEAD~3; git checkout -q done; git stash list
        test "$(git log --oneline | wc -l)" = 8
    "#)
        .must();
    place.finish();
}

#[test]
fn sqlite() {
    let Some(mut place) = Place::new("sqlite").filter(|_| have_all(&["sqlite3"])) else { return };
    for (mode, more) in [("delete", ""), ("truncate", ""), ("wal", "pragma mmap_size=100000000;")] {
        let script = format!(
            r#"
            sqlite3 {mode}.db "pragma journal_mode={mode}; create table t(id integer primary key, k int, v blob); create index i on t(k);"
            for round in 1 2 3; do
                sqlite3 {mode}.db "{more} begin; with recursive n(x) as (select 1 union all select x + 1 from n where x < 4000)
                    insert into t(k, v) select abs(random() % 5000), randomblob(x % 300) from n; commit;
                    update t set v = randomblob(400) where k % 7 = $round; delete from t where k % 11 = $round;"
            done
            # Writers that wait for each other, each transaction durable by itself.
            writer() {{
                for i in $(seq 1 40); do
                    echo ".timeout 60000"; echo "insert into t(k, v) values(-$1, 'writer $1 row $i');"
                done | sqlite3 {mode}.db
            }}
            writer 1 & one=$!; writer 2 & two=$!; wait $one; wait $two
            test "$(sqlite3 {mode}.db 'select count(*) from t where k < 0')" = 80
            test "$(sqlite3 {mode}.db 'pragma integrity_check')" = ok
            sqlite3 {mode}.db "vacuum"
            test "$(sqlite3 {mode}.db 'pragma integrity_check')" = ok
            sqlite3 {mode}.db .dump > "$ASIDE/{mode}.sql"
        "#
        );
        place.sh(&script).must();
    }
    place.remount();
    for mode in ["delete", "truncate", "wal"] {
        let script = format!(
            r#"
            test "$(sqlite3 {mode}.db 'pragma integrity_check')" = ok
            sqlite3 {mode}.db .dump | cmp - "$ASIDE/{mode}.sql"
            sqlite3 {mode}.db "begin; delete from t; rollback;"
            sqlite3 {mode}.db .dump | cmp - "$ASIDE/{mode}.sql"
        "#
        );
        place.sh(&script).must();
    }
    place.finish();
}

fn postgres_bin() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    versions.flatten().map(|v| v.path().join("bin")).find(|b| b.join("initdb").is_file())
}

#[test]
fn postgresql() {
    let Some(mut place) = Place::new("postgresql") else { return };
    let Some(bin) = postgres_bin().filter(|_| have_all(&["runuser"])) else {
        println!("not run: PostgreSQL is missing");
        assert!(std::env::var_os("CI").is_none(), "CI lacks PostgreSQL");
        return;
    };
    sh(&format!(
        "chown postgres {0} {1}; chmod 755 {1}",
        place.dir.display(),
        place.aside().display()
    ))
    .must();
    let dir = place.dir.clone();
    let user = move |script: &str| {
        // No server stays behind when a step fails.
        let stop = "trap '$BIN/pg_ctl -D db -m immediate stop >/dev/null 2>&1 || true' EXIT";
        let script = format!("set -euo pipefail; cd {}; {stop}; {script}", dir.display());
        let mut as_user = Command::new("runuser");
        as_user.args(["-u", "postgres", "--", "bash", "-c", &script]);
        run(as_user.env("BIN", &bin).env("LC_ALL", "C"))
    };
    let start = "$BIN/pg_ctl -D db -w -t 120 -l log -o \"-k $PWD -h '' -c wal_sync_method=fdatasync\" start";
    let stop = "$BIN/pg_ctl -D db -w -t 120 -m fast stop";
    user(&format!(
        "$BIN/initdb -D db -A trust --data-checksums -U postgres >/dev/null; {start}
         export PGHOST=$PWD PGUSER=postgres
         $BIN/createdb bench; $BIN/pgbench -q -i -s 2 bench
         $BIN/pgbench -n -c 4 -j 2 -t 150 bench
         $BIN/psql -At -c 'create index on pgbench_history(tid)' -c 'vacuum full pgbench_accounts' -c checkpoint bench
         {stop}; $BIN/pg_checksums --check -D db"
    ))
    .must();
    place.remount();
    user(&format!(
        "{start}; export PGHOST=$PWD PGUSER=postgres
         test $($BIN/psql -Atc 'select count(*) from pgbench_accounts' bench) = 200000
         test $($BIN/psql -Atc 'select count(*) from pgbench_history' bench) = 600
         $BIN/psql -Atc 'select sum(abalance) from pgbench_accounts' bench > a
         $BIN/psql -Atc 'select sum(delta) from pgbench_history' bench | cmp - a
         $BIN/pg_amcheck --install-missing --heapallindexed bench
         $BIN/pgbench -n -S -c 2 -t 500 bench; {stop}; $BIN/pg_checksums --check -D db"
    ))
    .must();
    place.finish();
}

/// A tree with everything that an archiver can meet.
const ODD_TREE: &str = r#"
    mkdir -p "$1"; cd "$1"
    mkdir -p a/b/c empty 'name with spaces' $'new\nline'
    for i in $(seq 1 200); do head -c $((i * i)) /dev/urandom > a/b/f$i; done
    ln a/b/f1 hard; ln a/b/f1 a/b/c/hard; ln -s a/b/f2 soft; ln -s /nowhere/at/all dangling
    mkfifo pipe; mknod char c 1 3; mknod block b 7 200
    truncate -s 10M sparse; printf x | dd of=sparse bs=1 seek=5000000 conv=notrunc status=none
    chmod 4755 a/b/f3; chmod 2755 a; chmod 1777 empty; chmod 000 a/b/f4
    chown 1000:1001 a/b/f5; chown -h 12:13 soft
    touch -d '1969-07-20 20:17:40.123456789 UTC' a/b/f6
    touch -d '2345-01-01 00:00:00.987654321 UTC' a/b/f7
    touch -h -d '2001-01-01' soft; touch -d '2002-02-02' empty
    setfattr -n user.note -v 'a note' a/b/f8; setfattr -n user.dir -v 'on a directory' a
    setfattr -n trusted.secret -v 'by root' a/b/f9
    setfacl -m u:1000:rw,g:1001:r a/b/f10; setfacl -d -m u:1000:rwx a/b; setfacl -m u:1000:rx a/b
"#;

#[test]
fn rsync() {
    let wanted = ["rsync", "setfattr", "setfacl"];
    let Some(mut place) = Place::new("rsync").filter(|_| have_all(&wanted)) else { return };
    place.sh(&format!("set -- \"$ASIDE/tree\"; {ODD_TREE}")).must();
    place.sh("rsync -aHAXS --numeric-ids $ASIDE/tree/ copy/").must();
    let same = "rsync -aHAXS --numeric-ids --itemize-changes --delete";
    for reading in ["from the cache", "from the devices"] {
        let out = place.sh(&format!("{same} $ASIDE/tree/ copy/")).must();
        assert_eq!(out.out, "", "the second run transfers nothing, {reading}");
        let out = place.sh(&format!("{same} --checksum --dry-run $ASIDE/tree/ copy/")).must();
        assert_eq!(out.out, "", "the same contents, {reading}");
        let out = place.sh(&format!("{same} --checksum --dry-run copy/ $ASIDE/tree/")).must();
        assert_eq!(out.out, "", "the other way round, {reading}");
        place.remount();
    }
    place
        .sh(r#"
        test "$(stat -c %h copy/hard)" = 3; test "$(stat -c %s copy/sparse)" = 10485760
        test "$(stat -c %b copy/sparse)" -lt 2000
        rsync -aHAX copy/ second/; test -z "$(rsync -aHAXi copy/ second/)"
        test -z "$(rsync -aHAXi --checksum $ASIDE/tree/ second/)"
    "#)
        .must();
    place.finish();
}

#[test]
fn a_build() {
    let Some(mut place) = Place::new("build").filter(|_| have_all(&["cc", "make"])) else { return };
    place
        .sh(r#"
        mkdir -p src include obj
        { echo '#pragma once'; for i in $(seq 1 100); do echo "int f$i(int);"; done; } > include/all.h
        for i in $(seq 1 100); do
            printf '#include <stdio.h>\n#include "all.h"\nint f%d(int x) { return x + %d; }\n' $i $i > src/f$i.c
        done
        { printf '#include <stdio.h>\n#include "all.h"\nint main(void) { int x = 0;\n'
          for i in $(seq 1 100); do echo "x = f$i(x);"; done
          echo 'printf("%d\n", x); return 0; }'; } > src/main.c
        cat > Makefile <<'END'
OBJ = $(patsubst src/%.c,obj/%.o,$(wildcard src/*.c))
program: libf.a obj/main.o
	$(CC) -o $@ obj/main.o libf.a
libf.a: $(filter-out obj/main.o,$(OBJ))
	rm -f $@; ar rcs $@ $^
obj/%.o: src/%.c
	$(CC) -Iinclude -O1 -MMD -c -o $@ $<
-include $(OBJ:.o=.d)
END
        make -j2 >/dev/null; test "$(./program)" = 5050
        make | grep 'up to date' > /dev/null
    "#)
        .must();
    place.remount();
    place
        .sh(r#"
        make | grep 'up to date' > /dev/null; test "$(./program)" = 5050
        sleep 0.02; sed -i 's/x + 1;/x + 1001;/' src/f1.c; make | grep -c -- '-c -o' > count
        test "$(cat count)" = 1; test "$(./program)" = 6050
        touch include/all.h; test "$(make -n | grep -c -- '-c -o')" = 101
        rm -rf obj; mkdir obj; make -j2 >/dev/null; test "$(./program)" = 6050
    "#)
        .must();
    place.finish();
}

#[test]
fn archives_and_trees() {
    let Some(mut place) = Place::new("tar").filter(|_| have_all(&["tar", "diff", "find"])) else {
        return;
    };
    place
        .sh(r#"
        tar -C /usr -cf $ASIDE/include.tar include
        tar -xpf $ASIDE/include.tar; diff -r --no-dereference /usr/include include
        cp -a include copy; diff -r --no-dereference include copy
    "#)
        .must();
    place.remount();
    place
        .sh(r#"
        diff -r --no-dereference /usr/include include
        diff -r --no-dereference /usr/include copy
        listing() { (cd "$1" && find . -printf '%p %y %m %U %G %l %T@\n' | sort); }
        listing /usr/include > $ASIDE/want
        # An archive has whole seconds.
        listing include | sed 's/\.[0-9]*$//' > $ASIDE/got
        sed 's/\.[0-9]*$//' $ASIDE/want | diff - $ASIDE/got
        listing copy | diff - <(listing include)
        test "$(find include | wc -l)" = "$(find /usr/include | wc -l)"
        test "$(find include -type f -size +2k | wc -l)" = "$(find /usr/include -type f -size +2k | wc -l)"
        grep -rl 'struct timespec' include | sort | sed 's,^,/usr/,' > $ASIDE/got
        grep -rl 'struct timespec' /usr/include | sort | diff - $ASIDE/got
        test "$(du -s --apparent-size include/linux | cut -f1)" -gt 1000
        tar -cf - include | tar -tf - | wc -l > $ASIDE/got
        mv include moved; find moved copy -type f -links +1 | wc -l
        rm -rf moved copy; test -z "$(ls -A)"
    "#)
        .must();
    if let Some(volume) = &place.volume {
        volume.expect_free(995);
    }
    place.finish();
}

#[test]
fn many_processes_at_once() {
    let Some(mut place) = Place::new("processes") else { return };
    place
        .sh(r#"
        work() {
            mkdir p$1; cp -r /usr/include/linux p$1/a; mv p$1/a p$1/b; cp -r p$1/b p$1/c
            diff -r p$1/b p$1/c; find p$1/c -name '*.h' -print0 | xargs -0 cat | wc -c > p$1/size
            rm -rf p$1/c; (cd p$1/b && find . -type f -exec sha1sum {} + | sort) > p$1/sums
        }
        for i in 1 2 3 4; do work $i & jobs[$i]=$!; done
        for i in 1 2 3 4; do wait ${jobs[$i]}; done
        cmp p1/sums p2/sums; cmp p1/sums p3/sums; cmp p1/size p4/size
    "#)
        .must();
    place.remount();
    place
        .sh(r#"
        for i in 1 2 3 4; do (cd p$i/b && sha1sum --quiet -c ../sums); done
        diff -r /usr/include/linux p3/b
    "#)
        .must();
    place.finish();
}
