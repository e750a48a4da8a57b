// A resolved launch plan into driver calls: arguments, attributes, tensor maps; and what an error says of the kernel.
#include <fmt/format.h>

#include <algorithm>

#include "common/element_type.h"
#include "common/status_macros.h"
#include "worker/device/cuda/cuda_device.h"

namespace fsr::cuda {
namespace {

constexpr uint32_t kSharedBytesWithoutOptIn = 48 * 1024;
constexpr uint32_t kPortableClusterSize = 8;  // CUDA C++ Programming Guide, "Thread Block Clusters"

LaunchReport::Failure Refused(const ResolvedLaunch& launch, const std::string& kind, const std::string& message) {
  LaunchReport::Failure failure;
  failure.outcome = v1::LAUNCH_ERROR;
  failure.fault.set_kind(kind);
  failure.fault.set_kernel(launch.kernel);
  failure.fault.set_source_line(static_cast<uint32_t>(launch.line));
  failure.fault.set_message(message);
  return failure;
}

CUtensorMapDataType TensorMapType(v1::ElementType type) {
  switch (type) {
    case v1::F16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case v1::BF16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case v1::F32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case v1::F64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case v1::I32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case v1::I64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case v1::U16:
    case v1::I16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case v1::U32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case v1::U64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

CUtensorMapSwizzle SwizzleOf(const std::string& name) {
  if (name == "32B") return CU_TENSOR_MAP_SWIZZLE_32B;
  if (name == "64B") return CU_TENSOR_MAP_SWIZZLE_64B;
  if (name == "128B") return CU_TENSOR_MAP_SWIZZLE_128B;
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

// The bytes of a CUtensorMap over a dense buffer, innermost dimension first; empty with `error` set if it is refused.
std::vector<uint8_t> EncodeTensorMap(const Driver& driver, const ResolvedTensorMap& map, CUdeviceptr address,
                                     std::string& error) {
  std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end()), strides;
  std::vector<cuuint32_t> box(map.box.begin(), map.box.end()), steps(map.dims.size(), 1);
  cuuint64_t stride = SizeOf(map.type);
  for (size_t i = 0; i + 1 < dims.size(); ++i) strides.push_back(stride *= dims[i]);
  alignas(64) CUtensorMap encoded;
  const CUresult result = driver.TensorMapEncodeTiled(
      &encoded, TensorMapType(map.type), static_cast<cuuint32_t>(dims.size()), reinterpret_cast<void*>(address),
      dims.data(), strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, SwizzleOf(map.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    error = fmt::format(
        "The tensor map {} is refused: {}. Strides must be multiples of 16 bytes, boxes at most 256 elements a "
        "dimension and, with a swizzle, at most its width across.",
        map.name, ErrorText(driver, result));
    return {};
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(&encoded);
  return std::vector<uint8_t>(bytes, bytes + sizeof(encoded));
}

// Fills in `prepared.values`; an error sentence, or empty.
std::string BindArguments(const Driver& driver, const ResolvedPlan& plan, const ResolvedLaunch& launch,
                          std::span<DeviceBuffer* const> buffers, PreparedLaunch& prepared) {
  for (const ResolvedArgument& argument : launch.arguments) {
    switch (argument.kind) {
      case ResolvedArgument::Kind::kValue:
        prepared.values.push_back(argument.bytes);
        break;
      case ResolvedArgument::Kind::kBuffer: {
        const uint64_t address = buffers[static_cast<size_t>(argument.index)]->address();
        const auto* bytes = reinterpret_cast<const uint8_t*>(&address);
        prepared.values.emplace_back(bytes, bytes + sizeof(address));
        break;
      }
      case ResolvedArgument::Kind::kTensorMap: {
        const ResolvedTensorMap& map = plan.tensor_maps[static_cast<size_t>(argument.index)];
        std::string error;
        prepared.values.push_back(
            EncodeTensorMap(driver, map, buffers[static_cast<size_t>(map.buffer)]->address(), error));
        if (!error.empty()) return error;
        break;
      }
    }
  }
  // The driver cannot know how many arguments we pass: check them against the kernel's own signature.
  size_t count = 0;
  for (size_t offset = 0, size = 0; driver.FuncGetParamInfo(prepared.function, count, &offset, &size) == CUDA_SUCCESS;
       ++count) {
    if (count < prepared.values.size() && prepared.values[count].size() != size) {
      return fmt::format("Argument {} of {} has {} bytes, the kernel's parameter {}.", count + 1, launch.kernel,
                         prepared.values[count].size(), size);
    }
  }
  if (count != prepared.values.size()) {
    return fmt::format("{} takes {} parameters, the launch line gives {} arguments.", launch.kernel, count,
                       prepared.values.size());
  }
  for (std::vector<uint8_t>& value : prepared.values) prepared.arguments.push_back(value.data());
  return "";
}

// Shared memory beyond 48 KiB and clusters beyond 8 blocks need to be asked for; an error sentence, or empty.
std::string OptIn(const Driver& driver, const v1::DeviceFacts& facts, const ResolvedLaunch& launch,
                  CUfunction function) {
  int static_shared = 0;
  driver.FuncGetAttribute(&static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  if (launch.shared_bytes + static_cast<uint32_t>(static_shared) > facts.shared_bytes_per_block_max()) {
    return fmt::format("{} asks for {} bytes of shared memory ({} of them static); a block of {} has at most {}.",
                       launch.kernel, launch.shared_bytes + static_cast<uint32_t>(static_shared), static_shared,
                       facts.name(), facts.shared_bytes_per_block_max());
  }
  if (launch.shared_bytes + static_cast<uint32_t>(static_shared) > kSharedBytesWithoutOptIn) {
    const CUresult result = driver.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                    static_cast<int>(launch.shared_bytes));
    if (result != CUDA_SUCCESS)
      return fmt::format("{} bytes of shared memory are refused: {}.", launch.shared_bytes, ErrorText(driver, result));
  }
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > kPortableClusterSize) {
    driver.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  }
  return "";
}

void Configure(const ResolvedLaunch& launch, CUstream stream, PreparedLaunch& prepared) {
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = launch.cluster[0];
    attribute.value.clusterDim.y = launch.cluster[1];
    attribute.value.clusterDim.z = launch.cluster[2];
    prepared.attributes.push_back(attribute);
  }
  if (launch.cooperative) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    prepared.attributes.push_back(attribute);
  }
  CUlaunchConfig& config = prepared.config;
  config.gridDimX = launch.grid[0];
  config.gridDimY = launch.grid[1];
  config.gridDimZ = launch.grid[2];
  config.blockDimX = launch.block[0];
  config.blockDimY = launch.block[1];
  config.blockDimZ = launch.block[2];
  config.sharedMemBytes = launch.shared_bytes;
  config.hStream = stream;
  config.attrs = prepared.attributes.data();
  config.numAttrs = static_cast<unsigned>(prepared.attributes.size());
}

}  // namespace

absl::StatusOr<CudaDevice::PrepareResult> CudaDevice::Prepare(DeviceModule& module, const ResolvedPlan& plan,
                                                              std::span<DeviceBuffer* const> buffers) {
  const auto& loaded = static_cast<CudaModule&>(module);
  PrepareResult result;
  for (const ResolvedFill& fill : plan.fills) {
    DeviceBuffer& buffer = *buffers[static_cast<size_t>(fill.buffer)];
    result.plan.fills.push_back({buffer.address(), buffer.bytes(), fill.byte});
  }
  for (const ResolvedLaunch& launch : plan.launches) {
    auto prepared = std::make_unique<PreparedLaunch>();
    prepared->kernel = launch.kernel;
    prepared->line = static_cast<uint32_t>(launch.line);
    prepared->function = loaded.Find(launch.kernel);
    std::string error;
    if (prepared->function == nullptr) {
      error = fmt::format("There is no kernel {} in the compiled file.", launch.kernel);
    } else {
      error = OptIn(*driver_, facts_, launch, prepared->function);
    }
    if (error.empty()) error = BindArguments(*driver_, plan, launch, buffers, *prepared);
    if (!error.empty()) {
      result.failure = Refused(launch, "bad_launch", error);
      return result;
    }
    Configure(launch, stream_, *prepared);
    result.plan.launches.push_back(std::move(prepared));
  }
  return result;
}

std::optional<LaunchReport::Failure> CudaDevice::Enqueue(PreparedPlan& plan) {
  for (const PreparedPlan::Fill& fill : plan.fills) {
    if (fill.bytes == 0) continue;
    const CUresult result = driver_->MemsetD8Async(fill.address, fill.byte, fill.bytes, stream_);
    if (result != CUDA_SUCCESS) return FailureOf(*driver_, result, "fill", 0);
  }
  for (const auto& launch : plan.launches) {
    last_kernel_ = launch->kernel;
    last_line_ = launch->line;
    const CUresult result =
        driver_->LaunchKernelEx(&launch->config, launch->function, launch->arguments.data(), nullptr);
    if (result != CUDA_SUCCESS) {
      LaunchReport::Failure failure = FailureOf(*driver_, result, launch->kernel, launch->line);
      if (failure.outcome != v1::LAUNCH_ERROR) SetContextBroken();
      return failure;
    }
  }
  return std::nullopt;
}

LaunchReport::Failure FailureOf(const Driver& driver, CUresult result, const std::string& kernel, uint32_t line) {
  LaunchReport::Failure failure;
  failure.fault.set_kernel(kernel);
  std::string kind, hint;
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      kind = "illegal_address", hint = "It read or wrote memory that is not its own.";
      break;
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      kind = "misaligned_address", hint = "A vector access must lie at a multiple of its own size.";
      break;
    case CUDA_ERROR_ASSERT:
      kind = "assert", hint = "A device-side assert failed.";
      break;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
      kind = "illegal_instruction", hint = "An instruction or an address of the wrong kind was executed.";
      break;
    case CUDA_ERROR_LAUNCH_FAILED:
      kind = "trap",
      hint = "It trapped, or broke in a way the driver does not name (a barrier, an mbarrier, a bulk copy).";
      break;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      kind = "timeout", hint = "The driver's own watchdog ended it.";
      break;
    default:
      // Everything else is said at the launch itself, before anything runs, and leaves the context usable.
      failure.outcome = v1::LAUNCH_ERROR;
      failure.fault.set_kind("bad_launch");
      failure.fault.set_source_line(line);
      failure.fault.set_message(
          fmt::format("The GPU refuses the launch of {}: {}.", kernel, ErrorText(driver, result)));
      return failure;
  }
  failure.outcome = kind == "timeout" ? v1::TIMEOUT : v1::RUNTIME_FAULT;
  failure.fault.set_kind(kind);
  failure.fault.set_message(fmt::format("{} broke on the GPU: {}. {}", kernel, ErrorText(driver, result), hint));
  return failure;
}

}  // namespace fsr::cuda
