#include "worker/device/cuda/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "common/clock.h"
#include "common/status_macros.h"
#include "worker/device/cuda/facts.h"

namespace fsr::cuda {
namespace {

constexpr uint8_t kGuardByte = 0xA5;
// How long to spin before a wait starts to sleep: most kernels of a case end within this.
constexpr absl::Duration kSpin = absl::Milliseconds(2);
constexpr absl::Duration kPoll = absl::Microseconds(200);

class CudaBuffer : public DeviceBuffer {
 public:
  CudaBuffer(const Driver& driver, CUdeviceptr base, size_t bytes) : driver_(driver), base_(base), bytes_(bytes) {}
  ~CudaBuffer() override {
    if (!ContextIsBroken()) driver_.MemFree(base_);
  }
  CudaBuffer(const CudaBuffer&) = delete;  // owns the memory
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  uint64_t address() const override { return base_ + kGuardBytes; }
  size_t bytes() const override { return bytes_; }

  absl::Status Write(std::span<const std::byte> data, size_t offset) override {
    if (data.empty()) return absl::OkStatus();
    return ToStatus(driver_, driver_.MemcpyHtoD(address() + offset, data.data(), data.size()), "copying to the GPU");
  }
  absl::Status Read(std::span<std::byte> data, size_t offset) override {
    if (data.empty()) return absl::OkStatus();
    return ToStatus(driver_, driver_.MemcpyDtoH(data.data(), address() + offset, data.size()), "copying from the GPU");
  }
  absl::Status Fill(uint8_t byte) override {
    if (bytes_ == 0) return absl::OkStatus();
    return ToStatus(driver_, driver_.MemsetD8(address(), byte, bytes_), "filling memory of the GPU");
  }
  absl::Status WriteGuards() {
    RETURN_IF_ERROR(ToStatus(driver_, driver_.MemsetD8(base_, kGuardByte, kGuardBytes), "writing a guard band"));
    return ToStatus(driver_, driver_.MemsetD8(address() + bytes_, kGuardByte, kGuardBytes), "writing a guard band");
  }
  absl::StatusOr<bool> GuardsIntact() override {
    std::vector<uint8_t> guards(2 * kGuardBytes);
    RETURN_IF_ERROR(ToStatus(driver_, driver_.MemcpyDtoH(guards.data(), base_, kGuardBytes), "reading a guard band"));
    RETURN_IF_ERROR(ToStatus(driver_, driver_.MemcpyDtoH(guards.data() + kGuardBytes, address() + bytes_, kGuardBytes),
                             "reading a guard band"));
    return std::all_of(guards.begin(), guards.end(), [](uint8_t b) { return b == kGuardByte; });
  }

 private:
  const Driver& driver_;
  const CUdeviceptr base_;
  const size_t bytes_;
};

}  // namespace

CUfunction CudaModule::Find(const std::string& kernel) const {
  auto lowered = lowered_names_.find(kernel);
  CUfunction function = nullptr;
  const std::string& name = lowered == lowered_names_.end() ? kernel : lowered->second;
  return driver_.ModuleGetFunction(&function, module_, name.c_str()) == CUDA_SUCCESS ? function : nullptr;
}

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(int ordinal) {
  ASSIGN_OR_RETURN(const Driver* driver, LoadDriver());
  ASSIGN_OR_RETURN(v1::DeviceFacts facts, ReadFacts(*driver, ordinal));
  CUdevice handle = 0;
  RETURN_IF_ERROR(ToStatus(*driver, driver->DeviceGet(&handle, ordinal), "opening the GPU"));
  auto device = std::unique_ptr<CudaDevice>(new CudaDevice(driver, std::move(facts), handle));
  RETURN_IF_ERROR(
      ToStatus(*driver, driver->DevicePrimaryCtxRetain(&device->context_, handle), "making a CUDA context"));
  RETURN_IF_ERROR(ToStatus(*driver, driver->CtxSetCurrent(device->context_), "making the CUDA context current"));
  // A stream that is ordered with the legacy default one: a copy from pageable memory may still be on its way to the
  // GPU when the call returns, and a launch must not overtake it.
  RETURN_IF_ERROR(ToStatus(*driver, driver->StreamCreate(&device->stream_, CU_STREAM_DEFAULT), "making a stream"));
  return device;
}

CudaDevice::~CudaDevice() {
  // A broken context answers nothing any more; the process ends with it.
  if (ContextIsBroken()) return;
  if (stream_ != nullptr) driver_->StreamDestroy(stream_);
  if (context_ != nullptr) driver_->DevicePrimaryCtxRelease(device_);
}

absl::StatusOr<std::unique_ptr<DeviceBuffer>> CudaDevice::Allocate(std::string_view name, size_t bytes) {
  CUdeviceptr base = 0;
  const CUresult result = driver_->MemAlloc(&base, bytes + 2 * kGuardBytes);
  if (result != CUDA_SUCCESS) {
    return ToStatus(*driver_, result, fmt::format("allocating {} bytes for {}", bytes, name).c_str());
  }
  auto buffer = std::make_unique<CudaBuffer>(*driver_, base, bytes);
  RETURN_IF_ERROR(buffer->WriteGuards());
  return buffer;
}

absl::StatusOr<Device::LoadResult> CudaDevice::Load(const CompiledKernel& kernel) {
  char log[4096] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  const std::string& image = kernel.cubin.empty() ? kernel.ptx : kernel.cubin;
  CUmodule module = nullptr;
  const CUresult result = driver_->ModuleLoadDataEx(&module, image.c_str(), 2, options, values);
  LoadResult loaded;
  if (result == CUDA_SUCCESS) {
    loaded.module = std::make_unique<CudaModule>(*driver_, module, kernel.lowered_names);
    return loaded;
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return ToStatus(*driver_, result, "loading the kernel");
  LaunchReport::Failure failure;
  failure.outcome = result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                        ? v1::UNSUPPORTED
                        : v1::LAUNCH_ERROR;
  failure.fault.set_kind("module_load");
  failure.fault.set_message(
      fmt::format("The GPU cannot load the compiled kernel: {}. {}", ErrorText(*driver_, result), log));
  loaded.failure = failure;
  return loaded;
}

absl::StatusOr<LaunchReport> CudaDevice::Run(DeviceModule& module, const ResolvedPlan& plan,
                                             std::span<DeviceBuffer* const> buffers, const RunOptions& options) {
  LaunchReport report;
  ASSIGN_OR_RETURN(PrepareResult prepared, Prepare(module, plan, buffers));
  report.failure = prepared.failure;
  if (!report.failure) report.failure = Enqueue(prepared.plan);
  // What was queued before a refused launch has to end, too.
  if (auto failure = Await(options.time_limit); failure && !report.failure) report.failure = failure;
  return report;
}

std::optional<LaunchReport::Failure> CudaDevice::Await(absl::Duration time_limit) {
  const absl::Time start = SystemClock()->Now();
  for (;;) {
    const CUresult result = driver_->StreamQuery(stream_);
    if (result == CUDA_SUCCESS) return std::nullopt;
    if (result != CUDA_ERROR_NOT_READY) {
      SetContextBroken();
      return FailureOf(*driver_, result, last_kernel_, last_line_);
    }
    const absl::Duration waited = SystemClock()->Now() - start;
    if (waited > time_limit) {
      SetContextBroken();
      LaunchReport::Failure failure;
      failure.outcome = v1::TIMEOUT;
      failure.fault.set_kind("timeout");
      failure.fault.set_kernel(last_kernel_);
      failure.fault.set_message(fmt::format("{} did not end within {}.",
                                            last_kernel_.empty() ? "The work on the GPU" : last_kernel_,
                                            absl::FormatDuration(time_limit)));
      return failure;
    }
    if (waited > kSpin) SystemClock()->Sleep(kPoll);
  }
}

}  // namespace fsr::cuda

namespace fsr {

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal) {
  ASSIGN_OR_RETURN(std::unique_ptr<cuda::CudaDevice> device, cuda::CudaDevice::Open(ordinal));
  return device;
}

absl::StatusOr<int> CountCudaDevices() {
  ASSIGN_OR_RETURN(const cuda::Driver* driver, cuda::LoadDriver());
  int count = 0;
  RETURN_IF_ERROR(cuda::ToStatus(*driver, driver->DeviceGetCount(&count), "counting GPUs"));
  if (count == 0) return absl::UnavailableError("This machine has a driver but no GPU.");
  return count;
}

absl::StatusOr<v1::DeviceFacts> ReadCudaDeviceFacts(int ordinal) {
  ASSIGN_OR_RETURN(const cuda::Driver* driver, cuda::LoadDriver());
  return cuda::ReadFacts(*driver, ordinal);
}

}  // namespace fsr
