# SPDX-License-Identifier: Apache-2.0
# One page for developers; users start with ./run.  Meson does the work.

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
NINJA = ninja $(if $(V),-v,--quiet)
QUIET = $(if $(V),,>/dev/null)

BUILDS = build build-gcc build-clang build-tsan build-arm build-fuzz build-deb

# A build folder knows the tree and itself by their absolute paths: in a copy of the tree ninja would run meson on the
# original, and change files there.
ifneq ($(filter-out clean format,$(or $(MAKECMDGOALS),build)),)
INFO = $(wildcard $(BUILDS:=/meson-info/meson-info.json))
ELSEWHERE := $(strip $(if $(INFO),$(shell python3 -c 'import json, os, sys; \
	same = lambda a, b: os.path.exists(a) and os.path.samefile(a, b); \
	print(*(at["build"] for path in sys.argv[1:] for at in [json.load(open(path))["directories"]] \
	if not (same(at["source"], ".") and same(at["build"], os.path.dirname(os.path.dirname(path))))))' $(INFO))))
ifneq ($(ELSEWHERE),)
$(error this tree was copied or moved with its build folders, which still stand for $(ELSEWHERE): "make clean" removes those here)
endif
endif

.PHONY: build built-gcc built-clang built-tsan demo test bench soak fuzz install uninstall deb tarball format clean

build: build/build.ninja
	@$(NINJA) -C build

# The commands are shown as a user types them; the program is not installed.
demo: build
	@echo '$$ rocelab sim --rows 3 --html build/pod64.html examples/pod64.yaml'
	@build/rocelab sim --rows 3 --html build/pod64.html examples/pod64.yaml
	@printf '\nThe same run as a page with charts: build/pod64.html\n\n\n'
	@echo '$$ rocelab capture --details 0 examples/incast.pcap'
	@build/rocelab capture --details 0 examples/incast.pcap || [ $$? = 1 ]
	@printf '\n\n'
	@examples/live build/rocelab
	@printf '\nNext: export PATH=$$PWD/build:$$PATH, then "rocelab help"; README.md has a command for each kind of user.\n'

# Everything a change must pass; docs/internals/testing.md has the time it takes.
test:
	@tests/run

# Speed: ratios against a bare loop in the same run, and instruction counts.
bench: built-gcc
	@bench/run build-gcc

# What is too long for `test`: the suite `soak` of both builds, libFuzzer, millions of random frames and captures; all that
# has threads, with ThreadSanitizer.
soak: built-gcc built-clang build-tsan/build.ninja
	@meson test -C build-gcc --suite soak --print-errorlogs --timeout-multiplier 20
	@meson test -C build-clang --suite soak --print-errorlogs --timeout-multiplier 20
	@fuzz/run 60
	@meson test -C build-tsan --suite sim --suite live --suite swarm --print-errorlogs --timeout-multiplier 20
	@tests/soak build-clang

fuzz:
	@fuzz/run $(FUZZ_SECONDS)

install: build
	@meson configure build --prefix=$(abspath $(PREFIX)) $(QUIET)
	@meson install -C build $(if $(DESTDIR),--destdir $(abspath $(DESTDIR))) $(QUIET)

# What the last `make install` of this folder put there.
uninstall:
	@$(NINJA) -C build uninstall $(QUIET)

# Debian packages into build-deb/ARCH, of this machine's architecture or of that of `make deb ARCH=arm64`.
deb:
	@package/deb $(ARCH)

# The same as one file that runs wherever it is unpacked, into the same folder.
tarball:
	@package/tarball $(ARCH)

format:
	@find src lib include tests bench fuzz -name '*.[ch]' -exec clang-format -i {} +

clean:
	@rm -rf $(BUILDS)

built-gcc built-clang: built-%: build-%/build.ninja
	@$(NINJA) -C build-$*

# What the suite `threads` needs and no more: meson builds that before it runs the tests, here each under a program that
# does nothing.
built-tsan: build-tsan/build.ninja
	@said=$$(meson test -C build-tsan --suite threads --no-suite soak --wrapper true 2>&1) || { echo "$$said" >&2; exit 1; }

build/build.ninja:
	@CC=$${CC:-gcc} meson setup build --prefix=$(abspath $(PREFIX)) $(QUIET)

# The product's own flags, with gcc: the build the benchmarks measure.  Of debug information line numbers alone, which does
# not change the code.
build-gcc/build.ninja:
	@CC=gcc meson setup build-gcc -Dtests=true -Dc_args=-g1 $(QUIET)

# The same tests with clang, AddressSanitizer and UndefinedBehaviorSanitizer.  A finding ends the program, so code that goes
# on after one need not be made; a finding's lines are all that is read of the debug information.  A third less to compile.
build-clang/build.ninja:
	@CC=clang meson setup build-clang -Dtests=true -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=0 \
		-Dc_args='-fno-sanitize-recover=all -gline-tables-only' $(QUIET)

# Those with threads again, with ThreadSanitizer.
build-tsan/build.ninja:
	@CC=clang meson setup build-tsan -Dtests=true -Db_sanitize=thread -Db_lundef=false -Doptimization=0 \
		-Dc_args=-gline-tables-only $(QUIET)
