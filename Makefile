# The few everyday commands. `make run` and `make test` work on a fresh machine.
PRESET ?= release
BUILD := build/$(PRESET)
CONFIGURE_FLAGS := $(if $(FSR_CUDA_ROOT),-DFSR_CUDA_ROOT=$(FSR_CUDA_ROOT))

.PHONY: run test build setup bench bench-gpu format lint fuzz bundle clean

run: build  ## build, then search a fast kernel for tasks/transpose on the simulated H200, without a model
	$(BUILD)/bin/fsr run tasks/transpose

test: build  ## build, then run every test
	ctest --test-dir $(BUILD) --output-on-failure

build: setup  ## programs in build/release/bin (or PRESET=debug, asan, tsan, clang)
	@cmake --preset $(PRESET) $(CONFIGURE_FLAGS) >$(BUILD).configure.log 2>&1 || { cat $(BUILD).configure.log; exit 1; }
	@cmake --build $(BUILD)

setup:
	@deploy/setup.sh
	@mkdir -p build

bench: build  ## benchmarks that need no GPU
	@for b in $(BUILD)/bin/fsr_bench_*; do echo "== $$(basename $$b)"; $$b || exit 1; done

bench-gpu: build  ## on a machine with a GPU: its tests and figures, into gpu-results/
	tests/gpu/run.sh

format:
	@deploy/setup.sh lint
	git ls-files '*.h' '*.cc' | xargs clang-format-14 -i

lint:  ## formatting, clang-tidy, and clang's thread-safety analysis
	@deploy/setup.sh lint
	@mkdir -p build
	git ls-files '*.h' '*.cc' | xargs clang-format-14 --dry-run -Werror
	tests/tidy.sh
	$(MAKE) build PRESET=clang
	git ls-files '*.cc' | xargs -P 2 -n 8 clang-tidy-14 --quiet -p build/clang

SECONDS ?= 60
fuzz:  ## SECONDS of random answers, with sanitizers; what was found to be interesting is kept in build/fuzz/corpus
	@deploy/setup.sh lint
	@mkdir -p build/fuzz/corpus
	@cmake --preset fuzz >build/fuzz.configure.log 2>&1 || { cat build/fuzz.configure.log; exit 1; }
	@cmake --build --preset fuzz
	build/fuzz/bin/fsr_answer_fuzz -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=4096 -max_len=20000 \
	  -dict=tests/fuzz/answer.dict -artifact_prefix=build/fuzz/ build/fuzz/corpus tests/fuzz/answers

bundle: build  ## build/fsr-bundle.tar.gz: runs on another recent Linux with nothing but driver and toolkit
	deploy/bundle.sh $(BUILD)

clean:
	rm -rf build
