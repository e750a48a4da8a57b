#include "tests/server/made_task.h"

namespace fsr::testing {
namespace {

void SetSizes(int64_t rows, int64_t cols, v1::Case* which) {
  (*which->mutable_sizes())["rows"] = rows;
  (*which->mutable_sizes())["cols"] = cols;
}

void AddParameter(const std::string& name, v1::ElementType type, v1::Parameter::Role role,
                  const std::vector<std::string>& shape, v1::Task* task) {
  v1::Parameter* parameter = task->add_parameters();
  parameter->set_name(name);
  parameter->set_type(type);
  parameter->set_role(role);
  for (const std::string& extent : shape) parameter->add_shape(extent);
}

constexpr char kBaseline[] = R"cuda(// One thread an element.
// fsr: launch transpose grid=(ceil_div(cols, 32), ceil_div(rows, 8)) block=(32, 8)
extern "C" __global__ void transpose(const float* input, float* output, int rows, int cols) {
  int c = blockIdx.x * 32 + threadIdx.x;
  int r = blockIdx.y * 8 + threadIdx.y;
  if (r < rows && c < cols) output[c * rows + r] = input[r * cols + c];
}
)cuda";

constexpr char kTunable[] = R"cuda(// fsr: tune TILE = 32, 8, 16, 64
// fsr: tune ROWS = 8, 4, 16, 32
// fsr: launch transpose grid=(ceil_div(cols, TILE), ceil_div(rows, TILE)) block=(TILE, ROWS)
extern "C" __global__ void transpose(const float* input, float* output, int rows, int cols) {
  int c = blockIdx.x * TILE + threadIdx.x;
  for (int y = threadIdx.y; y < TILE; y += ROWS) {
    int r = blockIdx.y * TILE + y;
    if (r < rows && c < cols) output[c * rows + r] = input[r * cols + c];
  }
}
)cuda";

}  // namespace

v1::Task TransposeTask() {
  v1::Task task;
  task.set_name("transpose");
  task.set_description("Transpose a row-major matrix: output[c * rows + r] = input[r * cols + c].");
  AddParameter("input", v1::F32, v1::Parameter::INPUT, {"rows", "cols"}, &task);
  AddParameter("output", v1::F32, v1::Parameter::OUTPUT, {"cols", "rows"}, &task);
  AddParameter("rows", v1::I32, v1::Parameter::SIZE, {}, &task);
  AddParameter("cols", v1::I32, v1::Parameter::SIZE, {}, &task);
  SetSizes(33, 65, task.add_cases());
  v1::Case* held_out = task.add_cases();
  SetSizes(100, 257, held_out);
  held_out->set_held_out(true);
  SetSizes(1024, 1024, task.mutable_measure());
  SetSizes(256, 256, task.mutable_measure_simulated());
  task.set_launch(v1::Task::FREE);
  task.mutable_work()->set_flops("0");
  task.mutable_work()->set_bytes("8 * rows * cols");
  task.set_oracle_source(kBaseline);
  task.set_baseline_source(kBaseline);
  task.set_tunable_source(kTunable);
  return task;
}

v1::DeviceFacts SimulatedH200() {
  v1::DeviceFacts device;
  device.set_kind("sim:h200");
  device.set_name("NVIDIA H200 (simulated)");
  device.set_simulated(true);
  device.set_compute_capability_major(9);
  device.set_compute_capability_minor(0);
  device.set_architecture("sm_90a");
  device.set_sm_count(132);
  device.set_sm_clock_mhz(1980);
  device.set_memory_bandwidth_gb_per_s(4800);
  device.set_memory_bytes(uint64_t{141} << 30);
  device.set_l2_bytes(50 << 20);
  device.set_shared_bytes_per_sm(228 << 10);
  device.set_shared_bytes_per_block_max(227 << 10);
  device.set_registers_per_sm(65536);
  device.set_threads_per_sm_max(2048);
  device.set_blocks_per_sm_max(32);
  device.set_threads_per_block_max(1024);
  device.set_warp_size(32);
  return device;
}

}  // namespace fsr::testing
