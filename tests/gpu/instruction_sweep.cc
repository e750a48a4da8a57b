#include "tests/gpu/instruction_sweep.h"

#include <fmt/format.h>

#include <memory>
#include <span>

#include "common/status_macros.h"

namespace fsr {
namespace {

constexpr uint32_t kThreads = 256;
constexpr absl::Duration kRunLimit = absl::Minutes(5);

// Every value has eight bytes, of which the type's are used. PTX, since it is to be this very instruction.
constexpr char kKernel[] = R"(.version 7.8
.target {target}
.address_size 64
.visible .entry apply(.param .u64 first, .param .u64 second, .param .u64 result, .param .u32 count)
{{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<10>; .reg .{storage} %v<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [count];
  setp.ge.u32 %p1, %r4, %r5;
  @%p1 bra DONE;
  mul.wide.u32 %rd1, %r4, 8;
  ld.param.u64 %rd2, [first];
  add.u64 %rd3, %rd2, %rd1;
  ld.global.{storage} %v1, [%rd3];
  ld.param.u64 %rd4, [second];
  add.u64 %rd5, %rd4, %rd1;
  ld.global.{storage} %v2, [%rd5];
  {instruction} %v3, {sources};
  ld.param.u64 %rd6, [result];
  add.u64 %rd7, %rd6, %rd1;
  st.global.{storage} [%rd7], %v3;
DONE:
  ret;
}}
)";

std::string KernelOf(const std::string& instruction) {
  const std::string type = TypeNameOf(instruction);
  const bool half = type == "f16" || type == "bf16";
  return fmt::format(kKernel, fmt::arg("target", type.starts_with("bf16") ? "sm_90" : "sm_75"),
                     fmt::arg("storage", half                   ? "b16"
                                         : type.ends_with("x2") ? "b32"
                                                                : type),
                     fmt::arg("instruction", instruction),
                     fmt::arg("sources", SourcesOf(instruction) == 2 ? "%v1, %v2" : "%v1"));
}

std::vector<uint64_t> InputsOf(const Approximation& approximation, const Sweep& sweep, int index) {
  std::vector<uint64_t> inputs(sweep.count);
  for (size_t at = 0; at < sweep.count; ++at) inputs[at] = InputOf(approximation, sweep, at, index);
  return inputs;
}

absl::StatusOr<std::unique_ptr<DeviceBuffer>> BufferOf(Device& device, const char* name,
                                                       const std::vector<uint64_t>& content) {
  ASSIGN_OR_RETURN(std::unique_ptr<DeviceBuffer> buffer, device.Allocate(name, content.size() * sizeof(uint64_t)));
  RETURN_IF_ERROR(buffer->Write(std::as_bytes(std::span(content))));
  return buffer;
}

ResolvedPlan PlanOf(const std::vector<DeviceBuffer*>& buffers, size_t count) {
  ResolvedPlan plan;
  ResolvedLaunch& launch = plan.launches.emplace_back();
  launch.kernel = "apply";
  launch.grid = {static_cast<uint32_t>((count + kThreads - 1) / kThreads), 1, 1};
  launch.block = {kThreads, 1, 1};
  for (size_t i = 0; i < buffers.size(); ++i) {
    ResolvedBuffer& buffer = plan.buffers.emplace_back();
    buffer.name = i + 1 < buffers.size() ? "source" : "result";
    buffer.type = v1::U64;
    buffer.bytes = static_cast<int64_t>(buffers[i]->bytes());
    buffer.element_count = static_cast<int64_t>(count);
    launch.arguments.push_back({ResolvedArgument::Kind::kBuffer, static_cast<int>(i), {}});
  }
  ResolvedArgument& bound = launch.arguments.emplace_back();
  for (int byte = 0; byte < 4; ++byte) bound.bytes.push_back(static_cast<uint8_t>(count >> (8 * byte)));
  return plan;
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> RunSweep(Device& device, const Approximation& approximation, const Sweep& sweep) {
  CompiledKernel kernel;
  kernel.ptx = KernelOf(approximation.instruction);
  ASSIGN_OR_RETURN(Device::LoadResult loaded, device.Load(kernel));
  if (loaded.failure) {
    return absl::UnimplementedError(
        fmt::format("{} cannot be loaded: {}", approximation.instruction, loaded.failure->fault.message()));
  }
  std::vector<uint64_t> results(sweep.count);
  ASSIGN_OR_RETURN(const auto first, BufferOf(device, "first", InputsOf(approximation, sweep, 0)));
  ASSIGN_OR_RETURN(const auto second, BufferOf(device, "second", InputsOf(approximation, sweep, 1)));
  ASSIGN_OR_RETURN(const auto result, BufferOf(device, "result", results));
  const std::vector<DeviceBuffer*> buffers = {first.get(), second.get(), result.get()};
  Device::RunOptions options;
  options.time_limit = kRunLimit;
  ASSIGN_OR_RETURN(const LaunchReport report,
                   device.Run(*loaded.module, PlanOf(buffers, sweep.count), buffers, options));
  if (report.failure) {
    return absl::InternalError(
        fmt::format("{} on {} broke: {}", approximation.instruction, sweep.name, report.failure->fault.message()));
  }
  RETURN_IF_ERROR(result->Read(std::as_writable_bytes(std::span(results))));
  return results;
}

std::string EncodeCapture(const Approximation& approximation, const Sweep& sweep,
                          const std::vector<uint64_t>& results) {
  std::string capture;
  for (size_t at = 0; at < sweep.count; ++at) {
    const uint64_t nearest = NearestResult(approximation.instruction, InputOf(approximation, sweep, at, 0),
                                           InputOf(approximation, sweep, at, 1));
    const int64_t steps = StepsBetween(approximation.instruction, results[at], nearest);
    uint64_t left = static_cast<uint64_t>(steps) << 1 ^ static_cast<uint64_t>(steps >> 63);
    for (; left >= 0x80; left >>= 7) capture.push_back(static_cast<char>(left | 0x80));
    capture.push_back(static_cast<char>(left));
  }
  return capture;
}

absl::StatusOr<std::vector<uint64_t>> DecodeCapture(const Approximation& approximation, const Sweep& sweep,
                                                    const std::string& capture) {
  std::vector<uint64_t> results;
  size_t next = 0;
  while (next < capture.size() && results.size() < sweep.count) {
    uint64_t zigzag = 0;
    bool more = true;
    for (int shift = 0; more && next < capture.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(capture[next++]);
      zigzag |= uint64_t{byte & 0x7fu} << shift;
      more = (byte & 0x80u) != 0;
    }
    if (more) break;
    const auto steps = static_cast<int64_t>(zigzag >> 1 ^ (0 - (zigzag & 1)));
    const size_t at = results.size();
    const uint64_t nearest = NearestResult(approximation.instruction, InputOf(approximation, sweep, at, 0),
                                           InputOf(approximation, sweep, at, 1));
    results.push_back(StepFrom(approximation.instruction, nearest, steps));
  }
  if (results.size() == sweep.count && next == capture.size()) return results;
  return absl::DataLossError(fmt::format("The capture of {} on {} holds {} whole numbers in {} of {} bytes, not {}.",
                                         approximation.instruction, sweep.name, results.size(), next, capture.size(),
                                         sweep.count));
}

}  // namespace fsr
