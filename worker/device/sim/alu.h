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

// Where an instruction reads and writes. Pointers that an operation does not use are null; a destination that is
// written as `_` is null too. Lanes outside `mask` of every destination keep their values. A destination may be the
// same register as a source. What a source has above the width of its type is ignored; results are zero-extended,
// except that 8- and 16-bit signed results of cvt are sign-extended to 32 bits (their register may be that wide).
struct AluArguments {
  LaneMask mask = kFullMask;
  Lanes* destination = nullptr;
  Lanes* destination_high = nullptr;             // upper half of a b128, or the second element of a vector destination
  std::array<Lanes*, 2> further_destinations{};  // third and fourth element of a vector destination
  LaneMask* predicate = nullptr;                 // setp p|q and lop3 d|p: p
  LaneMask* second_predicate = nullptr;          // setp p|q: q
  LaneMask* carry = nullptr;                     // CC.CF, in and out
  std::array<const Lanes*, kAluSourcesMax> sources{};
  std::array<LaneMask, 2> source_predicates{};  // already negated where the operand was !p; an immediate is all or none
};

struct AluOperation;
using AluFunction = void (*)(const AluOperation& operation, const AluArguments& arguments);

// How one operand of the instruction, as written, is bound. Sources fill `sources` from the left, source predicates
// `source_predicates` likewise.
enum class AluBinding : uint8_t {
  kDestination,      // its `second` (lop3 d|p), if any, is `predicate`
  kDestinationHigh,  // a second result written as an operand of its own
  kPredicate,        // its `second` (setp p|q), if any, is `second_predicate`
  kSource,
  kSourcePredicate,
  kVectorDestination,  // mov.b64 {%r1, %r2}, %rd1: the elements become destination, destination_high, further_…
  kVectorSource,       // mov.b64 %rd1, {%r1, %r2}: the elements become consecutive sources
  kWideDestination,    // a b128 register: its halves become destination and destination_high
  kWideSource,         // a b128 register: its halves become two consecutive sources, low one first
  kParameter,          // an immediate that FindAlu has already put into `parameter`: nothing to bind
};

struct AluOperation {
  AluFunction function = nullptr;
  Pipe pipe = Pipe::kAlu;
  std::vector<AluBinding> bindings;  // by operand, as written
  // By index in `sources`: the type to give to ImmediateLane where the operand is a literal. It is not always the
  // instruction's: shl.b64 counts in u32, mad.wide.u32 adds a u64.
  std::array<std::string_view, kAluSourcesMax> source_types{};
  uint64_t parameter = 0;  // an immediate the function needs itself, such as a lop3 table or a byte order of prmt
  bool uses_carry = false;
};

// The operation of one instruction, looked up once when the kernel is loaded. UNIMPLEMENTED ("mma.sync…") for what is
// not arithmetic or not known: the interpreter tries this after its own instructions. INVALID_ARGUMENT for an
// instruction with the wrong number of operands.
absl::StatusOr<AluOperation> FindAlu(const ptx::Instruction& instruction);

// The lane value of an immediate operand where the operand's type is `type` ("f32": the bits of the float; "f16";
// "s64"; "b32" …). An integer literal is cut to the width of the type, also for a floating-point type, whose bits it
// then is; a float literal for a type of bits gives the bits of the float of that width.
uint64_t ImmediateLane(const ptx::Operand& operand, std::string_view type);

}  // namespace fsr::sim
