// What arithmetic, logic, comparison, selection and conversion instructions compute: pure functions on lanes, with the
// results of the PTX ISA (rounding modes, saturation, flush to zero, NaN), independent of the interpreter round them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/sim/events.h"
#include "worker/device/sim/lanes.h"
#include "worker/device/sim/ptx/module.h"

namespace fsr::sim {

inline constexpr int kAluSourcesMax = 6;

// Where an instruction reads and writes. Pointers that an operation does not use are null. Lanes outside `mask` of
// every destination keep their values.
struct AluArguments {
  LaneMask mask = kFullMask;
  Lanes* destination = nullptr;
  Lanes* destination_high =
      nullptr;  // second half of a b128, or the second result (mov.b64 {lo, hi}, …): see AluOperation
  LaneMask* predicate = nullptr;  // setp p, and `p|q`
  LaneMask* second_predicate = nullptr;
  LaneMask* carry = nullptr;  // CC.CF, in and out
  std::array<const Lanes*, kAluSourcesMax> sources{};
  std::array<LaneMask, 2> source_predicates{};  // already negated where the operand was !p
};

struct AluOperation;
using AluFunction = void (*)(const AluOperation& operation, const AluArguments& arguments);

// How one operand of the instruction, as written, is bound.
enum class AluBinding : uint8_t {
  kDestination,
  kDestinationHigh,
  kPredicate,
  kSource,
  kSourcePredicate,
  kVectorDestination,  // mov.b64 {%r1, %r2}, %rd1: the elements become destination, destination_high, … (2 at most; a
                       // 4-element one is split by Decode into two operations)
  kVectorSource,       // mov.b64 %rd1, {%r1, %r2}: the elements become consecutive sources
};

struct AluOperation {
  AluFunction function = nullptr;
  Pipe pipe = Pipe::kAlu;
  std::vector<AluBinding> bindings;  // by operand, as written; `second` of a setp destination is kPredicate's second
  uint64_t parameter = 0;  // an immediate the function needs itself, such as a lop3 table or a shift-clamp mode
  bool uses_carry = false;
};

// The operation of one instruction, looked up once when the kernel is loaded. UNIMPLEMENTED ("mma.sync…") for what is
// not arithmetic or not known: the interpreter tries this after its own instructions.
absl::StatusOr<AluOperation> FindAlu(const ptx::Instruction& instruction);

// The lane value of an immediate operand where the instruction's type is `type` ("f32": the bits of the float;
// "f16"; "s64"; "b32" …).
uint64_t ImmediateLane(const ptx::Operand& operand, std::string_view type);

}  // namespace fsr::sim
