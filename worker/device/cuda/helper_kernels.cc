#include "worker/device/cuda/helper_kernels.h"

#include <fmt/format.h>

#include <string>

#include "common/status_macros.h"

namespace fsr::cuda {
namespace {

constexpr int kFlag = 0, kExpired = 1, kNanoseconds = 2, kCycles = 3, kSharedWords = 4;
constexpr uint32_t kPerturbThreads = 64, kPerturbBlocks = 1;
constexpr uint32_t kStormThreads = 256, kStormChains = 16, kStormUnroll = 64;

// PTX, since the process that measures has no compiler: the driver makes machine code of it for any GPU from Turing on.
constexpr char kHeader[] = ".version 6.3\n.target sm_75\n.address_size 64\n";

constexpr char kBlock[] = R"(
.visible .entry fsr_block(.param .u64 shared, .param .u64 limit) {
  .reg .pred %p<3>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [shared];
  ld.param.u64 %rd2, [limit];
  mov.u64 %rd3, %globaltimer;
WAIT:
  ld.volatile.global.u64 %rd4, [%rd1];
  setp.ne.u64 %p1, %rd4, 0;
  @%p1 bra DONE;
  mov.u64 %rd5, %globaltimer;
  sub.u64 %rd6, %rd5, %rd3;
  setp.lt.u64 %p2, %rd6, %rd2;
  @%p2 bra WAIT;
  mov.u64 %rd7, 1;
  st.volatile.global.u64 [%rd1+8], %rd7;
DONE:
  ret;
}
)";

constexpr char kClock[] = R"(
.visible .entry fsr_clock(.param .u64 shared, .param .u64 spin) {
  .reg .pred %p<2>; .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [shared];
  ld.param.u64 %rd2, [spin];
  mov.u64 %rd3, %globaltimer;
  mov.u64 %rd4, %clock64;
SPIN:
  mov.u64 %rd5, %globaltimer;
  sub.u64 %rd6, %rd5, %rd3;
  setp.lt.u64 %p1, %rd6, %rd2;
  @%p1 bra SPIN;
  mov.u64 %rd7, %clock64;
  sub.u64 %rd8, %rd7, %rd4;
  st.volatile.global.u64 [%rd1+16], %rd6;
  st.volatile.global.u64 [%rd1+24], %rd8;
  ret;
}
)";

// Thread t copies element hash(seed, 2t) % count over element hash(seed, 2t + 1) % count; the hash is splitmix64.
constexpr char kPerturb[] = R"(
.visible .entry fsr_perturb(.param .u64 buffer, .param .u64 count, .param .u32 size, .param .u64 seed) {
  .reg .pred %p<4>; .reg .b32 %r<6>; .reg .b16 %h; .reg .b64 %rd<24>;
  ld.param.u64 %rd1, [buffer];
  ld.param.u64 %rd2, [count];
  ld.param.u32 %r1, [size];
  ld.param.u64 %rd3, [seed];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  cvt.u64.u32 %rd4, %r5;
  shl.b64 %rd4, %rd4, 1;
  add.u64 %rd5, %rd4, %rd3;
  mul.lo.u64 %rd5, %rd5, 0x9e3779b97f4a7c15;
  shr.u64 %rd6, %rd5, 30;
  xor.b64 %rd5, %rd5, %rd6;
  mul.lo.u64 %rd5, %rd5, 0xbf58476d1ce4e5b9;
  shr.u64 %rd6, %rd5, 27;
  xor.b64 %rd5, %rd5, %rd6;
  mul.lo.u64 %rd7, %rd5, 0x94d049bb133111eb;
  shr.u64 %rd8, %rd7, 31;
  xor.b64 %rd7, %rd7, %rd8;
  shr.u64 %rd9, %rd5, 1;
  rem.u64 %rd10, %rd7, %rd2;
  rem.u64 %rd11, %rd9, %rd2;
  cvt.u64.u32 %rd12, %r1;
  mad.lo.u64 %rd13, %rd10, %rd12, %rd1;
  mad.lo.u64 %rd14, %rd11, %rd12, %rd1;
  setp.eq.u32 %p1, %r1, 8;
  @%p1 bra EIGHT;
  setp.eq.u32 %p2, %r1, 4;
  @%p2 bra FOUR;
  setp.eq.u32 %p3, %r1, 2;
  @%p3 bra TWO;
  ld.volatile.global.u8 %h, [%rd13];
  st.volatile.global.u8 [%rd14], %h;
  ret;
TWO:
  ld.volatile.global.u16 %h, [%rd13];
  st.volatile.global.u16 [%rd14], %h;
  ret;
FOUR:
  ld.volatile.global.u32 %r2, [%rd13];
  st.volatile.global.u32 [%rd14], %r2;
  ret;
EIGHT:
  ld.volatile.global.u64 %rd15, [%rd13];
  st.volatile.global.u64 [%rd14], %rd15;
  ret;
}
)";

constexpr char kEmpty[] = "\n.visible .entry fsr_empty() { ret; }\n";

// kStormChains independent chains a thread, kStormUnroll steps a round: enough to keep every fma pipe full.
std::string FmaStormText() {
  std::string text = fmt::format(
      "\n.visible .entry fsr_storm(.param .u64 out, .param .u32 rounds) {{\n"
      "  .reg .pred %p; .reg .b32 %r<3>; .reg .f32 %f<{}>; .reg .b64 %rd1;\n"
      "  ld.param.u64 %rd1, [out];\n  ld.param.u32 %r1, [rounds];\n  mov.u32 %r2, %tid.x;\n  cvt.rn.f32.u32 %f0, "
      "%r2;\n",
      kStormChains + 1);
  for (uint32_t c = 1; c <= kStormChains; ++c) text += fmt::format("  add.f32 %f{}, %f0, 0f3F8{:05X};\n", c, c);
  text += "ROUND:\n";
  for (uint32_t u = 0; u < kStormUnroll; ++u) {
    for (uint32_t c = 1; c <= kStormChains; ++c)
      text += fmt::format("  fma.rn.f32 %f{0}, %f{0}, 0f3F7FFFF0, %f0;\n", c);
  }
  text += "  sub.u32 %r1, %r1, 1;\n  setp.ne.u32 %p, %r1, 0;\n  @%p bra ROUND;\n";
  for (uint32_t c = 2; c <= kStormChains; ++c) text += fmt::format("  add.f32 %f1, %f1, %f{};\n", c);
  // Never true (the chains stay positive), but the compiler cannot know: nothing above is dead.
  text += "  setp.eq.f32 %p, %f1, 0fBF800000;\n  @%p st.global.f32 [%rd1], %f1;\n  ret;\n}\n";
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HelperKernels>> HelperKernels::Load(const Driver& driver, CUstream stream) {
  auto helpers = std::unique_ptr<HelperKernels>(new HelperKernels(driver, stream));
  const std::string text = std::string(kHeader) + kBlock + kClock + kPerturb + kEmpty + FmaStormText();
  RETURN_IF_ERROR(ToStatus(driver, driver.ModuleLoadDataEx(&helpers->module_, text.c_str(), 0, nullptr, nullptr),
                           "loading the meter's own kernels"));
  const std::pair<const char*, CUfunction*> functions[] = {{"fsr_block", &helpers->block_},
                                                           {"fsr_clock", &helpers->clock_},
                                                           {"fsr_perturb", &helpers->perturb_},
                                                           {"fsr_empty", &helpers->empty_},
                                                           {"fsr_storm", &helpers->storm_}};
  for (const auto& [name, function] : functions) {
    RETURN_IF_ERROR(ToStatus(driver, driver.ModuleGetFunction(function, helpers->module_, name), name));
  }
  void* memory = nullptr;
  RETURN_IF_ERROR(ToStatus(driver,
                           driver.MemHostAlloc(&memory, kSharedWords * sizeof(uint64_t), CU_MEMHOSTALLOC_DEVICEMAP),
                           "allocating memory that host and GPU share"));
  helpers->shared_ = static_cast<volatile uint64_t*>(memory);
  RETURN_IF_ERROR(ToStatus(driver, driver.MemHostGetDevicePointer(&helpers->shared_address_, memory, 0),
                           "mapping memory that host and GPU share"));
  return helpers;
}

HelperKernels::~HelperKernels() {
  if (ContextIsBroken()) return;
  if (shared_ != nullptr) driver_.MemFreeHost(const_cast<uint64_t*>(shared_));
  if (module_ != nullptr) driver_.ModuleUnload(module_);
}

absl::Status HelperKernels::Launch(CUfunction function, uint32_t blocks, uint32_t threads, void** arguments) {
  CUlaunchConfig config{};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = threads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  return ToStatus(driver_, driver_.LaunchKernelEx(&config, function, arguments, nullptr),
                  "launching a kernel of the meter's own");
}

absl::Status HelperKernels::Block(uint64_t limit_ns) {
  shared_[kFlag] = 0;
  shared_[kExpired] = 0;
  void* arguments[] = {&shared_address_, &limit_ns};
  return Launch(block_, 1, 1, arguments);
}

void HelperKernels::Release() { shared_[kFlag] = 1; }

bool HelperKernels::ReleasedInTime() const { return shared_[kExpired] == 0; }

absl::Status HelperKernels::MeasureClock(uint64_t spin_ns) {
  void* arguments[] = {&shared_address_, &spin_ns};
  return Launch(clock_, 1, 1, arguments);
}

double HelperKernels::ClockMhz() const {
  const uint64_t nanoseconds = shared_[kNanoseconds];
  return nanoseconds == 0 ? 0 : 1e3 * static_cast<double>(shared_[kCycles]) / static_cast<double>(nanoseconds);
}

absl::Status HelperKernels::Perturb(CUdeviceptr buffer, uint64_t element_count, uint32_t element_bytes, uint64_t seed) {
  if (element_count == 0) return absl::OkStatus();
  void* arguments[] = {&buffer, &element_count, &element_bytes, &seed};
  return Launch(perturb_, kPerturbBlocks, kPerturbThreads, arguments);
}

absl::Status HelperKernels::Empty() { return Launch(empty_, 1, 32, nullptr); }

absl::Status HelperKernels::FmaStorm(uint32_t blocks, uint32_t rounds) {
  void* arguments[] = {&shared_address_, &rounds};
  return Launch(storm_, blocks, kStormThreads, arguments);
}

double HelperKernels::FmaStormFlops(uint32_t blocks, uint32_t rounds) {
  return 2.0 * kStormChains * kStormUnroll * kStormThreads * blocks * rounds;
}

}  // namespace fsr::cuda
