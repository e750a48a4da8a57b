#include "worker/device/cuda/cache_sweeper.h"

#include "common/status_macros.h"

namespace fsr::cuda {
namespace {

constexpr uint32_t kThreads = 256, kBlocksPerSm = 8;
constexpr size_t kUnitBytes = 16;  // what a thread reads at a time

// PTX, since the process that measures has no compiler. The memory holds zeros, so the store never happens, but the
// compiler cannot know: the loads stay.
constexpr char kSweep[] = R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry fsr_sweep(.param .u64 memory, .param .u64 count) {
  .reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [memory];
  ld.param.u64 %rd2, [count];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mad.wide.u32 %rd3, %r1, %r2, 0;
  cvt.u64.u32 %rd4, %r3;
  add.u64 %rd3, %rd3, %rd4;
  mul.wide.u32 %rd5, %r2, %r4;
  mov.u32 %r5, 0;
NEXT:
  setp.ge.u64 %p1, %rd3, %rd2;
  @%p1 bra DONE;
  mad.lo.u64 %rd6, %rd3, 16, %rd1;
  ld.global.cg.v4.u32 {%r6, %r7, %r8, %r9}, [%rd6];
  or.b32 %r6, %r6, %r7;
  or.b32 %r8, %r8, %r9;
  or.b32 %r5, %r5, %r6;
  or.b32 %r5, %r5, %r8;
  add.u64 %rd3, %rd3, %rd5;
  bra NEXT;
DONE:
  setp.ne.u32 %p2, %r5, 0;
  @%p2 st.global.u32 [%rd1], %r5;
  ret;
}
)";

}  // namespace

absl::StatusOr<std::unique_ptr<CacheSweeper>> CacheSweeper::Create(CudaDevice& device) {
  const Driver& driver = device.driver();
  auto sweeper = std::unique_ptr<CacheSweeper>(new CacheSweeper(device));
  RETURN_IF_ERROR(ToStatus(driver, driver.ModuleLoadDataEx(&sweeper->module_, kSweep, 0, nullptr, nullptr),
                           "loading the kernel that sweeps the L2 cache"));
  RETURN_IF_ERROR(ToStatus(driver, driver.ModuleGetFunction(&sweeper->sweep_, sweeper->module_, "fsr_sweep"),
                           "finding the kernel that sweeps the L2 cache"));
  sweeper->bytes_ = 2 * static_cast<size_t>(device.facts().l2_bytes()) / kUnitBytes * kUnitBytes;
  RETURN_IF_ERROR(
      ToStatus(driver, driver.MemAlloc(&sweeper->memory_, sweeper->bytes_), "allocating what sweeps the L2 cache"));
  RETURN_IF_ERROR(ToStatus(driver, driver.MemsetD8Async(sweeper->memory_, 0, sweeper->bytes_, device.stream()),
                           "clearing what sweeps the L2 cache"));
  return sweeper;
}

CacheSweeper::~CacheSweeper() {
  if (device_.broken()) return;
  if (memory_ != 0) device_.driver().MemFree(memory_);
  if (module_ != nullptr) device_.driver().ModuleUnload(module_);
}

absl::Status CacheSweeper::Sweep() {
  uint64_t count = bytes_ / kUnitBytes;
  void* arguments[] = {&memory_, &count};
  CUlaunchConfig config{};
  config.gridDimX = device_.facts().sm_count() * kBlocksPerSm;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = device_.stream();
  return ToStatus(device_.driver(), device_.driver().LaunchKernelEx(&config, sweep_, arguments, nullptr),
                  "sweeping the L2 cache");
}

}  // namespace fsr::cuda
