// What went wrong in a kernel, while it is being found out.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "worker/device/device.h"

namespace fsr::sim {

// Kinds are stable: signatures of failures and tests rely on them.
namespace fault_kind {
inline constexpr char kOutOfBoundsRead[] = "out_of_bounds_read";
inline constexpr char kOutOfBoundsWrite[] = "out_of_bounds_write";
inline constexpr char kNullPointer[] = "null_pointer";
inline constexpr char kMisaligned[] = "misaligned_access";
inline constexpr char kReadOnly[] = "write_to_constant";
inline constexpr char kFreed[] = "use_after_free";
inline constexpr char kTrap[] = "trap";
inline constexpr char kAssert[] = "assert";
inline constexpr char kDivergentBarrier[] = "divergent_barrier";
inline constexpr char kDivergentWarp[] = "divergent_warp_operation";
inline constexpr char kStackOverflow[] = "stack_overflow";
inline constexpr char kInvalidCall[] = "invalid_call";
inline constexpr char kInvalidOperand[] = "invalid_operand";
inline constexpr char kTimeout[] = "timeout";
inline constexpr char kUnsupported[] = "unsupported_instruction";
inline constexpr char kLaunch[] = "bad_launch";
}  // namespace fault_kind

struct FaultNote {
  v1::Outcome outcome = v1::RUNTIME_FAULT;
  std::string kind;
  std::string what;  // what happened, without place: "write of 4 bytes at output + 4096, …"
  bool has_thread = false;
  uint64_t block_number = 0;
  std::array<uint32_t, 3> block{}, thread{};
  uint32_t line = 0;
  uint64_t address = 0;
  std::string parameter;
  int64_t parameter_offset = 0;
};

// The same as one sentence with its place, for reports.
LaunchReport::Failure DescribeFault(const FaultNote& note, const std::string& kernel);

}  // namespace fsr::sim
