// Counters, hints and executed instructions of kernels whose figures are known by construction. Prints what was seen.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "tests/gpu/gpu_fixture.h"

namespace fsr {
namespace {

constexpr double kElements = 1 << 20;  // of DoubleTask
constexpr double kWarps = kElements / 32;

double Counter(const v1::Evaluation& evaluation, const std::string& name) {
  for (const v1::Counter& counter : evaluation.counters()) {
    if (counter.name() == name) return counter.value();
  }
  return std::nan("");
}

bool Says(const v1::Evaluation& evaluation, const std::string& words) {
  for (const std::string& hint : evaluation.hints()) {
    if (hint.find(words) != std::string::npos) return true;
  }
  return false;
}

v1::Evaluation Profiled(const std::string& what, const v1::Task& task, const std::string& source) {
  v1::Evaluation evaluation = EvaluateOnGpu(task, source);
  const v1::Measurement& measurement = evaluation.measurement();
  fmt::print("\n== {}: {}, {:.2f} us, limited by {}\n", what, v1::Outcome_Name(evaluation.outcome()),
             measurement.latency_us(), measurement.limited_by());
  if (evaluation.outcome() != v1::MEASURED) fmt::print("{}\n", Explain(evaluation));
  for (const v1::PhaseTime& phase : evaluation.phases()) {
    fmt::print("  {} {:.3f} s;", phase.phase(), phase.end_s() - phase.start_s());
  }
  fmt::print("\n");
  for (const v1::Counter& counter : evaluation.counters()) {
    fmt::print("  {} = {:.6g} {}\n", counter.name(), counter.value(), counter.unit());
  }
  for (const auto& [prefix, count] : evaluation.executed_instructions())
    fmt::print("  executed {}: {}\n", prefix, count);
  for (const std::string& hint : evaluation.hints()) fmt::print("  - {}\n", hint);
  std::fflush(stdout);
  return evaluation;
}

// The first test of the program: its first run is before anything was profiled.
TEST_CASE("what was profiled before does not change what is timed after") {
  std::vector<double> latencies;
  for (int run = 0; run < 4; ++run) {
    const v1::Evaluation evaluation = EvaluateOnGpu(DoubleTask(), Renewed(KernelFile({.body = kTwice}), run));
    REQUIRE(evaluation.outcome() == v1::MEASURED);
    latencies.push_back(evaluation.measurement().latency_us());
    fmt::print("run {}: {:.3f} us ({:.2f} % noise), hot {:.3f} us, empty pair {:.3f} us\n", run, latencies.back(),
               100 * evaluation.measurement().noise(), evaluation.measurement().hot_latency_us(),
               evaluation.measurement().event_floor_us());
  }
  for (const double latency : latencies) CHECK(latency == Approx(latencies[0]).epsilon(0.05));
}

v1::Task Transpose() {
  auto task = BundledTask("transpose");
  REQUIRE(task.ok());
  return *task;
}

std::string Tiled(int pitch) {
  return fmt::format(
      "// fsr: launch transpose grid=(ceil_div(cols, 32), ceil_div(rows, 32)) block=(32, 8)\n"
      "extern \"C\" __global__ void transpose(const float* input, float* output, int rows, int cols) {{\n"
      "  __shared__ float tile[32][{}];\n"
      "  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;\n"
      "  for (int k = 0; k < 32; k += 8) if (r + k < rows && c < cols)\n"
      "    tile[threadIdx.y + k][threadIdx.x] = input[(size_t)(r + k) * cols + c];\n"
      "  __syncthreads();\n"
      "  c = blockIdx.y * 32 + threadIdx.x; r = blockIdx.x * 32 + threadIdx.y;\n"
      "  for (int k = 0; k < 32; k += 8) if (r + k < cols && c < rows)\n"
      "    output[(size_t)(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];\n}}\n",
      pitch);
}

TEST_CASE("a transpose that scatters its stores is told so") {
  const v1::Evaluation evaluation = Profiled("naive transpose", Transpose(), Transpose().baseline_source());
  REQUIRE(evaluation.outcome() == v1::MEASURED);
  CHECK(Counter(evaluation, "global_store_sectors_per_request") == Approx(32).epsilon(0.01));
  CHECK(Counter(evaluation, "global_load_sectors_per_request") == Approx(4).epsilon(0.01));
  CHECK(Counter(evaluation, "global_store_efficiency") == Approx(12.5).epsilon(0.02));
  CHECK(Says(evaluation, "global store request"));
  CHECK(evaluation.measurement().limited_by() == "l2");
  CHECK_FALSE(Says(evaluation, "global load request"));
  CHECK(Counter(evaluation, "activity_time_us") == Approx(evaluation.measurement().latency_us()).epsilon(0.05));
}

TEST_CASE("a padded tile meets no bank twice, and moves what the task needs") {
  const v1::Evaluation evaluation = Profiled("tile of 33", Transpose(), Tiled(33));
  REQUIRE(evaluation.outcome() == v1::MEASURED);
  CHECK(Counter(evaluation, "global_store_sectors_per_request") == Approx(4).epsilon(0.01));
  CHECK(Counter(evaluation, "shared_bank_conflict_factor") < 1.1);
  CHECK(Counter(evaluation, "dram_bytes") == Approx(8.0 * 8192 * 8192).epsilon(0.15));
  CHECK(Counter(evaluation, "occupancy") == 100);
  CHECK_FALSE(Says(evaluation, "same bank"));
}

TEST_CASE("a tile without padding meets a bank 32 times") {
  const v1::Evaluation evaluation = Profiled("tile of 32", Transpose(), Tiled(32));
  REQUIRE(evaluation.outcome() == v1::MEASURED);
  CHECK(Counter(evaluation, "shared_bank_conflict_factor") > 8);  // 32 for loads, 1 for stores
  CHECK(Says(evaluation, "same bank"));
}

TEST_CASE("an array with an index known only at run time goes to local memory") {
  const v1::Evaluation evaluation =
      Profiled("local array", DoubleTask(),
               KernelFile({.body = "float a[64]; const float x = i < n ? input[i] : 0;\n"
                                   "  for (int k = 0; k < 64; ++k) a[(k * n + k) & 63] = x;\n"
                                   "  for (int k = 0; k < 64; ++k) a[(k * i + n) & 63] += a[(k + i) & 63];\n"
                                   "  if (i < n) output[i] = a[i & 63] == 0.1f ? 0 : 2 * x;"}));
  REQUIRE(evaluation.outcome() == v1::MEASURED);
  CHECK(Counter(evaluation, "local_memory_sectors") > 0);
  CHECK(Says(evaluation, "local memory"));
}

struct Executed {
  const char* prefix;
  double count;  // by warps
  KernelParts kernel;
};

constexpr char kOut[] = "if (i < n) output[i] = 2.0f * input[i] + d;";
constexpr char kWgmma[] =
    "__shared__ alignas(128) unsigned char s[4096]; for (int k = threadIdx.x; k < 4096; k += 128) s[k] = 0;\n"
    "  asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); __syncthreads();\n"
    "  const unsigned long long m = (((unsigned)__cvta_generic_to_shared(s) & 0x3ffff) >> 4) | (1ull << 16) | (8ull << "
    "32);\n"
    "  float d = 0, d1 = 0, d2 = 0, d3 = 0;\n"
    "  if (WHEN) {\n  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
    "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\"\n"
    "    : \"+f\"(d), \"+f\"(d1), \"+f\"(d2), \"+f\"(d3) : \"l\"(m), \"l\"(m) : \"memory\");\n"
    "  asm volatile(\"wgmma.commit_group.sync.aligned;\\n wgmma.wait_group.sync.aligned 0;\" ::: \"memory\"); }\n  ";

std::string Wgmma(const std::string& when) {
  std::string body = kWgmma;
  body.replace(body.find("WHEN"), 4, when);
  return body + kOut;
}

std::vector<Executed> ExecutedCases() {
  const std::string out = kOut;
  return {
      {"wgmma.", kWarps, {.body = Wgmma("n > 0"), .launch = "grid=(ceil_div(n, 128)) block=(128)"}},
      {"mma.sync.aligned.m16n8k16",
       kWarps,
       {.body =
            "float d = 0, e = 0, f = 0, g = 0; const unsigned a = n >> 30;\n"
            "  asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
            "{%4, %4}, {%0, %1, %2, %3};\" : \"+f\"(d), \"+f\"(e), \"+f\"(f), \"+f\"(g) : \"r\"(a));\n  " +
            out}},
      {"cp.async.ca",
       kWarps,
       {.body = "__shared__ float s[256]; const float d = 0;\n"
                "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\\n cp.async.wait_all;\" ::"
                "\"r\"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])), \"l\"(input + i) : \"memory\");\n"
                "  __syncthreads(); if (i < n) output[i] = 2.0f * s[threadIdx.x] + d;"}},
      {"cp.async.bulk",
       kElements / 256,
       {.body = "__shared__ alignas(128) float s[256]; __shared__ alignas(8) unsigned long long b;\n"
                "  const unsigned to = (unsigned)__cvta_generic_to_shared(s), bar = "
                "(unsigned)__cvta_generic_to_shared(&b);\n"
                "  const int count = min(256, n - (int)blockIdx.x * 256) / 4 * 4;\n"
                "  if (threadIdx.x == 0) { asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\\n "
                "fence.proxy.async.shared::cta;\" ::\"r\"(bar) : \"memory\");\n"
                "  asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" ::\"r\"(bar), \"r\"(count * "
                "4) : "
                "\"memory\");\n"
                "  asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
                "[%3];\" ::"
                "\"r\"(to), \"l\"(input + blockIdx.x * 256), \"r\"(count * 4), \"r\"(bar) : \"memory\"); }\n"
                "  __syncthreads(); unsigned done = 0;\n"
                "  while (!done) asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                " selp.u32 %0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(bar) : \"memory\");\n"
                "  if (i < n) output[i] = 2.0f * ((int)threadIdx.x < count ? s[threadIdx.x] : input[i]);"}},
      {"ldmatrix.",
       kWarps,
       {.body = "__shared__ alignas(16) float s[256]; s[threadIdx.x] = 0; __syncthreads(); unsigned r;\n"
                "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\" : \"=r\"(r) : "
                "\"r\"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x % 8 * 4])) : \"memory\");\n"
                "  const float d = __uint_as_float(r); " +
                out}},
      {"red.",
       kWarps,
       {.body =
            "if (i < n) asm volatile(\"red.global.add.f32 [%0], %1;\" ::\"l\"(output + i), \"f\"(2.0f * input[i]) : "
            "\"memory\");",
        .lines = "// fsr: fill output 0\n"}},
      {"ld.global", kWarps, {.body = kTwice}},
      {"st.shared",
       kWarps,
       {.body =
            "__shared__ float s[256]; asm volatile(\"st.shared.f32 [%0], %1;\" ::"
            "\"r\"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])), \"f\"(i < n ? input[i] : 0) : \"memory\");\n"
            "  if (i < n) output[i] = 2.0f * s[threadIdx.x];"}},
  };
}

TEST_CASE("a required instruction is counted as often as warps execute it") {
  for (const Executed& executed : ExecutedCases()) {
    v1::Task task = DoubleTask();
    for (v1::Case& which : *task.mutable_cases()) (*which.mutable_sizes())["n"] = 4096;
    task.add_required_instructions(executed.prefix);
    const v1::Evaluation evaluation = Profiled(executed.prefix, task, KernelFile(executed.kernel));
    INFO(executed.prefix << ": " << Explain(evaluation));
    CHECK(evaluation.outcome() == v1::MEASURED);
    const auto found = evaluation.executed_instructions().find(executed.prefix);
    CHECK((found != evaluation.executed_instructions().end() && static_cast<double>(found->second) == executed.count));
  }
}

TEST_CASE("several launches are counted together, and what passes between them is told") {
  v1::Task task = DoubleTask();
  task.add_required_instructions("st.global");
  const v1::Evaluation evaluation =
      Profiled("two launches", task,
               "// fsr: scratch copy f32[n]\n"
               "// fsr: launch first grid=(ceil_div(n, 256)) block=(256) args=(input, copy, n)\n"
               "// fsr: launch second grid=(ceil_div(n, 256)) block=(256) args=(copy, output, n)\n"
               "extern \"C\" __global__ void first(const float* from, float* to, int n) {\n"
               "  int i = blockIdx.x * 256 + threadIdx.x; if (i < n) to[i] = from[i];\n}\n"
               "extern \"C\" __global__ void second(const float* from, float* to, int n) {\n"
               "  int i = blockIdx.x * 256 + threadIdx.x; if (i < n) to[i] = 2 * from[i];\n}\n");
  REQUIRE(evaluation.outcome() == v1::MEASURED);
  CHECK(static_cast<double>(evaluation.executed_instructions().at("st.global")) == 2 * kWarps);
  CHECK(std::isnan(Counter(evaluation, "occupancy")));
  CHECK(Says(evaluation, "the 2 kernels take"));
}

TEST_CASE("a required instruction that stands in the code and is never executed is REJECTED") {
  v1::Task task = DoubleTask();
  task.add_required_instructions("wgmma.");
  const v1::Evaluation evaluation = Profiled(
      "dead wgmma", task, KernelFile({.body = Wgmma("n < 0"), .launch = "grid=(ceil_div(n, 128)) block=(128)"}));
  CHECK(evaluation.outcome() == v1::REJECTED);
  CHECK_FALSE(evaluation.has_measurement());
  CHECK(evaluation.diagnosis().find("never executes") != std::string::npos);
}

TEST_CASE("where the GPU has no counter for a required instruction, that is said") {
  v1::Task task = DoubleTask();
  task.add_required_instructions("shfl.");
  const v1::Evaluation evaluation =
      Profiled("shfl", task,
               KernelFile({.body = "float d = i < n ? input[i] : 0; d += __shfl_sync(~0u, d, threadIdx.x % 32);\n"
                                   "  if (i < n) output[i] = d;"}));
  CHECK(evaluation.outcome() == v1::MEASURED);
  CHECK_FALSE(evaluation.executed_instructions().contains("shfl."));
  CHECK(Says(evaluation, "shfl. instructions were executed is unknown"));
}

}  // namespace
}  // namespace fsr
