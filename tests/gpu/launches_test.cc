// Everything that a launch plan can ask of a GPU.
#include "tests/gpu/gpu_fixture.h"

namespace fsr {
namespace {

void CheckMeasured(const v1::Task& task, const std::string& source) {
  const v1::Evaluation evaluation = EvaluateOnGpu(task, source);
  INFO(Explain(evaluation));
  REQUIRE(evaluation.outcome() == v1::MEASURED);
  CHECK(evaluation.measurement().latency_us() > 0);
}

TEST_CASE("dynamic shared memory above 48 KiB is opted into") {
  CheckMeasured(DoubleTask(),
                KernelFile({.body = "const int at = 25000 - 256 + threadIdx.x; shared[at] = i < n ? input[i] : 0.0f; "
                                    "__syncthreads(); if (i < n) output[i] = 2.0f * shared[at];",
                            .launch = "grid=(ceil_div(n, 256)) block=(256) shared=100000",
                            .before = "extern __shared__ float shared[];\n"}));
}

TEST_CASE("a fill comes before the launches, in every run") {
  CheckMeasured(DoubleTask(), KernelFile({.body = "if (i < n) atomicAdd(&output[i], 2.0f * input[i]);",
                                          .lines = "// fsr: fill output 0\n"}));
}

TEST_CASE("several launches run in order, with scratch between them") {
  const std::string source =
      "// fsr: scratch reversed f32[n]\n"
      "// fsr: launch reverse grid=(ceil_div(n, 256)) block=(256) args=(input, reversed, n)\n"
      "// fsr: launch restore<2> grid=(ceil_div(n, 128)) block=(128) args=(reversed, output, n)\n"
      "extern \"C\" __global__ void reverse(const float* from, float* to, int n) {\n"
      "  int i = blockIdx.x * 256 + threadIdx.x; if (i < n) to[n - 1 - i] = from[i];\n}\n"
      "template <int kFactor> __global__ void restore(const float* from, float* to, int n) {\n"
      "  int i = blockIdx.x * 128 + threadIdx.x; if (i < n) to[i] = kFactor * from[n - 1 - i];\n}\n";
  CheckMeasured(DoubleTask(), source);
}

TEST_CASE("the blocks of a cluster read each other's shared memory") {
  const char* body = R"(
    __shared__ float s[256];
    unsigned rank, remote;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const int neighbours = (blockIdx.x ^ 1) * 256 + threadIdx.x;
    s[threadIdx.x] = neighbours < n ? 2.0f * input[neighbours] : 0.0f;
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    const unsigned local = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"(rank ^ 1));
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(remote) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    if (i < n) output[i] = value;)";
  CheckMeasured(DoubleTask(),
                KernelFile({.body = body, .launch = "grid=(2 * ceil_div(n, 512)) block=(256) cluster=(2)"}));
}

TEST_CASE("a grid that is no multiple of its cluster is a LAUNCH_ERROR") {
  const v1::Evaluation evaluation =
      EvaluateOnGpu(DoubleTask(), KernelFile({.body = kTwice, .launch = "grid=(4097) block=(256) cluster=(2)"}));
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::LAUNCH_ERROR);
}

TEST_CASE("a cooperative launch can wait for its whole grid") {
  const std::string source =
      "// fsr: scratch reversed f32[n]\n"
      "// fsr: launch twice grid=(128) block=(256) args=(input, reversed, output, n) cooperative\n"
      "#include <cooperative_groups.h>\n"
      "extern \"C\" __global__ void twice(const float* input, float* reversed, float* output, int n) {\n"
      "  const int first = blockIdx.x * 256 + threadIdx.x;\n"
      "  for (int i = first; i < n; i += 128 * 256) reversed[n - 1 - i] = 2.0f * input[i];\n"
      "  cooperative_groups::this_grid().sync();\n"
      "  for (int i = first; i < n; i += 128 * 256) output[i] = reversed[n - 1 - i];\n}\n";
  CheckMeasured(DoubleTask(), source);
}

// A task over matrices whose rows are whole 16-byte units, as a tensor map asks for.
v1::Task MatrixTask() {
  v1::Task task = DoubleTask();
  for (v1::Parameter& parameter : *task.mutable_parameters()) {
    if (parameter.role() == v1::Parameter::SIZE) {
      parameter.set_name("rows");
    } else {
      parameter.clear_shape();
      parameter.add_shape("rows");
      parameter.add_shape("cols");
    }
  }
  v1::Parameter& cols = *task.add_parameters();
  cols.set_name("cols");
  cols.set_type(v1::I32);
  cols.set_role(v1::Parameter::SIZE);
  auto resize = [](v1::Case& which, int64_t rows, int64_t columns) {
    which.clear_sizes();
    (*which.mutable_sizes())["rows"] = rows;
    (*which.mutable_sizes())["cols"] = columns;
  };
  resize(*task.mutable_cases(0), 8, 32);
  resize(*task.mutable_cases(1), 37, 100);
  resize(*task.mutable_measure(), 1024, 2048);
  task.mutable_work()->set_bytes("8 * rows * cols");
  task.mutable_work()->set_flops("rows * cols");
  const std::string plain =
      "// fsr: launch twice grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8)\n"
      "extern \"C\" __global__ void twice(const float* input, float* output, int rows, int cols) {\n"
      "  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;\n"
      "  if (r < rows && c < cols) output[(size_t)r * cols + c] = 2.0f * input[(size_t)r * cols + c];\n}\n";
  task.set_oracle_source(plain);
  task.set_baseline_source(plain);
  return task;
}

constexpr char kTensorMapKernel[] = R"(
// fsr: tensor_map map = input dims=(cols, rows) box=(32, 8) swizzle=none
// fsr: launch twice grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8) args=(map, output, rows, cols)
struct alignas(64) TensorMap { char bytes[128]; };
extern "C" __global__ void twice(const __grid_constant__ TensorMap map, float* output, int rows, int cols) {
  __shared__ alignas(128) float tile[8][32];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned to = (unsigned)__cvta_generic_to_shared(tile), bar = (unsigned)__cvta_generic_to_shared(&barrier);
  const bool first = threadIdx.x == 0 && threadIdx.y == 0;
  if (first) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (first) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"((unsigned)sizeof(tile)) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&map), "r"(blockIdx.x * 32), "r"(blockIdx.y * 8), "r"(bar)
        : "memory");
  }
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(bar)
        : "memory");
  }
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (r < rows && c < cols) output[(size_t)r * cols + c] = 2.0f * tile[threadIdx.y][threadIdx.x];
}
)";

TEST_CASE("a tile comes through a tensor map, its ragged edges too") {
  v1::Task task = MatrixTask();
  task.add_required_instructions("cp.async.bulk.tensor.");
  CheckMeasured(task, kTensorMapKernel);
}

TEST_CASE("a tensor map over rows that are no whole 16-byte units is a LAUNCH_ERROR that says so") {
  v1::Task task = MatrixTask();
  (*task.mutable_cases(0)->mutable_sizes())["cols"] = 33;
  const v1::Evaluation evaluation = EvaluateOnGpu(task, kTensorMapKernel);
  INFO(Explain(evaluation));
  CHECK(evaluation.outcome() == v1::LAUNCH_ERROR);
  CHECK(evaluation.diagnosis().find("16") != std::string::npos);
}

}  // namespace
}  // namespace fsr
