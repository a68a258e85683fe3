# What people type. The building itself is meson's and ninja's: see meson.build.
#
#     make up      builds, starts a cluster of this one machine, and runs a first job
#     make test    builds with sanitizers, and runs all tests
#
# Packages that are missing are installed first (Debian; by apt-get, as root or with sudo).

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
MUTANTS ?= 40
SEED ?= 1
# One line for each step is for a terminal, where ninja replaces it by the next.
NINJA = ninja $(if $(MAKE_TERMOUT),,--quiet)

.PHONY: build up down test test-vm test-displace test-settings test-threads mutate bench fuzz format screenshots install uninstall dist deb test-deb test-fresh clean help

build: packages-run moved-build build/build.ninja
	@$(NINJA) -C build

# Each time: it takes no time when nothing is missing.
packages-%:
	@tools/install-deps $*

# meson keeps the place of the sources in a build directory: when they were moved, it is made again.
moved-%:
	@if [ -d $* ] && ! grep -qF '"source": "$(CURDIR)"' $*/meson-info/meson-info.json 2>/dev/null; then \
		echo "$* was made for sources in another place: it is made again."; rm -rf $*; fi

build/build.ninja: | packages-run moved-build
	@meson setup build -Dtests=false -Db_lto=true --prefix=$(PREFIX)

up: build
	@echo
	@build/src/cmd/shunt up
	@echo
	@tools/first-job build/src/cmd examples/hello.sh

# Without building: what runs can be stopped whatever the sources are like now.
down:
	@if [ -x build/src/cmd/shunt ]; then build/src/cmd/shunt down; else echo "Nothing was built here: 'make up' starts a server."; fi

test: packages-test moved-build-test build-test/build.ninja
	@$(NINJA) -C build-test
	@tools/run-tests build-test

# What is optimized more takes twice as long to build. With the sanitizers' tables a program has 400,000 relocations if it is
# position-independent, a third of the time of every short command. Checks of each access for null, alignment and size would be
# more than half of these tables and a third of the time to build: the address sanitizer finds the first and the last, and
# build-fuzz has them all.
build-test/build.ninja: | packages-test moved-build-test
	@CC_LD=lld meson setup build-test -Dbuildtype=debug -Doptimization=1 -Dc_args='-g1 -fno-sanitize=null,alignment,object-size' -Dc_link_args=-no-pie -Db_sanitize=address,undefined -Dfaults=true

# Outside CI: it takes some twenty minutes, and needs root.
test-vm: build deb
	@tools/test-vm build

# Outside CI: some minutes.
test-displace: packages-test moved-build-test build-test/build.ninja
	@$(NINJA) -C build-test
	@SHUNT_DISPLACEMENTS=1000 tests/scenario/checkpoint build-test/src/cmd/shunt build-test/src/server/shuntd thousand

# Outside CI: some ten minutes.
test-settings: packages-test moved-build-test build-test/build.ninja
	@$(NINJA) -C build-test
	@tools/test-settings build-test

# Outside CI: what uses threads, under clang's thread sanitizer; it can't run where addresses are fully random.
THREADED = beside bounds hooks log signin users
test-threads: packages-ci moved-build-threads
	@[ -f build-threads/build.ninja ] || CC=clang CC_LD=lld meson setup build-threads -Dbuildtype=debug -Doptimization=1 -Dc_args=-g1 -Db_sanitize=thread -Db_lundef=false -Dfaults=true
	@$(NINJA) -C build-threads $(THREADED:%=tests/test_%)
	@setarch -R tools/run-tests build-threads $(THREADED)

# Outside CI: a build and a run of all tests first, then less than a minute for each mutant.
mutate: packages-test
	@tools/mutate --mutants $(MUTANTS) --seed $(SEED) $(if $(JOBS),--jobs $(JOBS))

bench: build
	@if [ -x bench/run ]; then bench/run build; else meson test -C build --benchmark --verbose; fi

fuzz: packages-ci moved-build-fuzz build-fuzz/build.ninja
	@$(NINJA) -C build-fuzz fuzzers
	@tools/run-fuzz build-fuzz $(FUZZ_SECONDS)

build-fuzz/build.ninja: | packages-ci moved-build-fuzz
	@CC=clang CC_LD=lld meson setup build-fuzz -Dbuildtype=debug -Doptimization=1 -Dc_args=-g1 -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true

format: packages-ci
	@tools/format

# Pictures of the page, with Chromium.
screenshots: packages-test build
	@tools/screenshots build docs/images

install: build
	@meson configure build -Dprefix=$(PREFIX)
	@meson install -C build
	@echo
	@if [ "$$(id -u)" = 0 ]; then \
		echo "To be a cluster's server:  systemctl enable --now shunt   (without systemd: shuntd --system)"; \
		echo "To be a node of a server:  shunt join SERVER              (it asks for a token; 'shunt token create' there makes one)"; \
	else echo "Installed for you alone: $(PREFIX)/bin/shunt up starts a cluster of this machine."; fi

# The archive of a release, and Debian packages of it.
dist:
	@tools/make-dist build-dist

deb:
	@tools/build-deb build-deb

# Outside CI, as root, in systems made for it: the packages; README's two commands where nothing is installed.
test-deb: deb
	@tools/test-deb build-deb

test-fresh:
	@tools/test-fresh

# Leaves configuration, state and the account: 'make install' again finds them.
uninstall:
	@$(NINJA) -C build uninstall

clean:
	@rm -rf build build-test build-fuzz build-gcc build-clang build-dist build-deb build-mutate build-cov build-threads

help:
	@sed -n '/^#     make/s/^#     //p' Makefile
	@echo "make bench   measures speed"
	@echo "make test-vm boots a machine with full control groups and systemd, and tests jobs and units in it"
	@echo "make test-displace  stops and restarts counting programs 1,000 times"
	@echo "make test-settings  runs the quick tests soon after boot, on one processor, in other time zones, as a user, with few programs"
	@echo "make test-threads  runs what uses threads under the thread sanitizer"
	@echo "make mutate  changes single lines, and shows which changes no test notices (MUTANTS=40 SEED=1)"
	@echo "make deb     makes Debian packages; make test-deb also tries them in a clean system"
	@echo "make test-fresh  tries 'make up' and some tests on Debian 12 and 13, and Ubuntu 24.04 where it can be had"
	@echo "make fuzz    feeds the parsers with noise for FUZZ_SECONDS=60 each"
	@echo "make screenshots  takes pictures of the page into docs/images"
	@echo "make format  lays out the sources by .clang-format"
	@echo "make install PREFIX=/usr/local DESTDIR="
	@echo "make down    stops what make up started"
	@echo "make clean   removes what was built"
