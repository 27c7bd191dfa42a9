# A thin front to CMake: `cmake -B build && cmake --build build && ctest --test-dir build` does as well.
BUILD ?= build
TYPE ?= Release
GENERATOR ?= $(if $(shell command -v ninja 2>/dev/null),Ninja,Unix Makefiles)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
KAON = $(BUILD)/kaon

# The configuration of `make run`: small enough for a few minutes on two cores.
RUN_LATTICE ?= 8 8 8 16
RUN_SWEEPS ?= 200
RUN_KAPPA ?= 0.130
RUN_CSW ?= 1.769

.PHONY: help setup build program run check check_house bench performance docs install format clean

help:
	@echo "make run      install what is missing, build the program, make a configuration, compute its propagator (run/)"
	@echo "make setup    install what is missing, and build nothing"
	@echo "make check    build and pass every test"
	@echo "make build    build library, program and tests in $(BUILD)/"
	@echo "make bench    measure the kernels and compare them with the limits of the machine"
	@echo "make performance  docs/performance.md and its plots, from bench/results"
	@echo "make install  build library, programs and man pages, and install them below PREFIX ($(PREFIX))"
	@echo "make docs     the reference of the C interface, in $(BUILD)/docs/html (needs doxygen)"
	@echo "make check_house  whether the tree keeps to its budgets"
	@echo "make format   lay out the sources (clang-format)"
	@echo "make clean    remove $(BUILD)/ and run/"
	@echo "KAON_NO_INSTALL=1 make run: print what is missing instead of installing it"

setup:
	@scripts/setup.sh

CONFIGURE = cmake -S . -B $(BUILD) -G "$(GENERATOR)" -DCMAKE_BUILD_TYPE=$(TYPE)

# Everything. What `make run` has left out follows now.
build:
	@if [ ! -e $(BUILD)/CMakeCache.txt ]; then $(CONFIGURE); \
	elif grep -q '^KAON_CUDA:[A-Z]*=DEVICE$$' $(BUILD)/CMakeCache.txt; then cmake -DKAON_CUDA=AUTO $(BUILD); fi
	cmake --build $(BUILD) --parallel $(JOBS)

# The program alone, and kernels for devices only where there is a device: these take many minutes to compile.
program:
	@[ -e $(BUILD)/CMakeCache.txt ] || $(CONFIGURE) -DKAON_CUDA=DEVICE
	cmake --build $(BUILD) --parallel $(JOBS) --target kaon_program

run: setup
	@$(MAKE) --no-print-directory program
	@mkdir -p run
	$(KAON) generate --lattice $(RUN_LATTICE) --beta 6.0 --sweeps $(RUN_SWEEPS) --every 20 \
	  --output run/config.lime
	$(KAON) gauge run/config.lime
	$(KAON) invert --gauge run/config.lime --action clover --kappa $(RUN_KAPPA) --csw $(RUN_CSW) \
	  --sloppy half --output run/propagator.lime --correlators run/correlators.txt \
	  --history run/history.csv --plot run/convergence.png --plot-pion run/pion.png \
	  --report run/report.json
	@echo "left in run/:" && ls run

check: setup
	@if grep -q '^KAON_BUILD_TESTS:BOOL=OFF' $(BUILD)/CMakeCache.txt 2>/dev/null; then cmake -DKAON_BUILD_TESTS=ON $(BUILD); fi
	@$(MAKE) --no-print-directory build
	scripts/check.sh $(BUILD) --parallel $(JOBS) $(CHECK_OPTIONS)

bench:
	@$(MAKE) --no-print-directory build
	$(KAON) bench dslash
	$(KAON) bench vector
	$(KAON) bench solve

performance:
	scripts/performance.py

# Library, programs and man pages, without tests. DESTDIR is put before the prefix.
install:
	@[ -e $(BUILD)/CMakeCache.txt ] || $(CONFIGURE) -DKAON_BUILD_TESTS=OFF
	cmake --build $(BUILD) --parallel $(JOBS) --target kaon_installed
	cmake --install $(BUILD) --prefix $(PREFIX)

docs:
	@[ -e $(BUILD)/CMakeCache.txt ] || $(CONFIGURE) -DKAON_CUDA=DEVICE -DKAON_BUILD_TESTS=OFF
	cmake --build $(BUILD) --target docs

check_house:
	scripts/check_house.sh $(BUILD)

format:
	git ls-files '*.c' '*.h' '*.cu' | xargs clang-format -i

clean:
	rm -rf $(BUILD) run
