#include "worker/device/sim/fault.h"

#include <fmt/format.h>

namespace fsr::sim {
namespace {

void SetDim3(const std::array<uint32_t, 3>& from, v1::Dim3* to) {
  to->set_x(from[0]);
  to->set_y(from[1]);
  to->set_z(from[2]);
}

}  // namespace

LaunchReport::Failure DescribeFault(const FaultNote& note, const std::string& kernel) {
  LaunchReport::Failure failure;
  failure.outcome = note.outcome;
  v1::Fault& fault = failure.fault;
  fault.set_kind(note.kind);
  fault.set_kernel(kernel);
  fault.set_source_line(note.line);
  fault.set_address(note.address);
  fault.set_parameter(note.parameter);
  fault.set_parameter_offset_bytes(note.parameter_offset);
  std::string message = note.what;
  if (note.has_thread) {
    SetDim3(note.block, fault.mutable_block());
    SetDim3(note.thread, fault.mutable_thread());
    message += fmt::format(", by thread ({}) of block ({})", fmt::join(note.thread, ","), fmt::join(note.block, ","));
  }
  if (note.line != 0) message += fmt::format(" at line {}", note.line);
  fault.set_message(fmt::format("{}: {}.", kernel, message));
  return failure;
}

}  // namespace fsr::sim
