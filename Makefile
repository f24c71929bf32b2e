# Tandem. `make demo` and `make test` do their own set-up; see scripts/setup.sh.

CARGO ?= cargo
PREFIX ?= /usr/local
SBINDIR ?= /usr/sbin
DESTDIR ?=
# More arguments for the demonstration: make demo DEMO="--tree /usr/include"
DEMO ?=

TARGET = $(or $(CARGO_TARGET_DIR),target)
SHARE = $(DESTDIR)$(PREFIX)/share
HELPERS = mount.tandem mkfs.tandem fsck.tandem umount.tandem umount.fuse.tandem umount.fuseblk.tandem

.PHONY: all build setup-demo setup-test demo test soak lint bench man install uninstall clean

all: build

build:
	$(CARGO) build --release -p tandem

setup-demo:
	@bash scripts/setup.sh demo

setup-test:
	@bash scripts/setup.sh test

demo: setup-demo build
	$(TARGET)/release/tandem demo $(DEMO)

test: setup-test
	$(CARGO) test --workspace
	$(CARGO) test -p tandem-fs --features shuttle --test interleave
	$(CARGO) test -p tandem-fs --features shuttle --test simulate
	$(CARGO) test -p tandem-fs --features planted --test crash planted

# The long runs through a mount: a few minutes each.
soak: setup-test
	TANDEM_DIFFERENTIAL=1000000 TANDEM_KILLS=500 $(CARGO) test -p tandem --test differential --test kill -- --nocapture

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p tandem-fs --features shuttle,planted --test interleave --test simulate -- -D warnings

bench:
	$(CARGO) bench --workspace

man: build
	$(TARGET)/release/tandem man $(TARGET)/man
	@echo "man pages: $(TARGET)/man"

install: build
	install -D -m 755 $(TARGET)/release/tandem $(DESTDIR)$(PREFIX)/bin/tandem
	install -d $(DESTDIR)$(SBINDIR) $(SHARE)/man/man8 $(SHARE)/bash-completion/completions \
		$(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	for helper in $(HELPERS); do \
		ln -sfn $(PREFIX)/bin/tandem $(DESTDIR)$(SBINDIR)/$$helper || exit 1; \
	done
	$(TARGET)/release/tandem man $(SHARE)/man/man8
	$(TARGET)/release/tandem completions $(TARGET)/completions
	install -m 644 $(TARGET)/completions/tandem.bash $(SHARE)/bash-completion/completions/tandem
	install -m 644 $(TARGET)/completions/_tandem $(SHARE)/zsh/site-functions/_tandem
	install -m 644 $(TARGET)/completions/tandem.fish $(SHARE)/fish/vendor_completions.d/tandem.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/tandem $(HELPERS:%=$(DESTDIR)$(SBINDIR)/%) \
		$(SHARE)/man/man8/tandem*.8 $(SHARE)/bash-completion/completions/tandem \
		$(SHARE)/zsh/site-functions/_tandem $(SHARE)/fish/vendor_completions.d/tandem.fish

clean:
	$(CARGO) clean
