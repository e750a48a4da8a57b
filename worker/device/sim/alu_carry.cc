// Extended-precision arithmetic: sums that read and write the carry bit CC.CF, which is a borrow for subtractions.
#include <type_traits>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_map.h"

namespace fsr::sim::alu {
namespace {

enum class Term { kA, kProductLow, kProductHigh };  // what is added to (or, for kA, has subtracted) the last source

struct CarryForm {
  Term term = Term::kA;
  bool subtract = false, reads = false, writes = false;
};

uint64_t Pack(const CarryForm& form) {
  return static_cast<uint64_t>(form.term) | uint64_t{form.subtract} << 2 | uint64_t{form.reads} << 3 |
         uint64_t{form.writes} << 4;
}
CarryForm Unpack(uint64_t bits) {
  return {static_cast<Term>(bits & 3), (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
}

template <class T>
struct CarryBody {
  using U = std::make_unsigned_t<T>;
  static constexpr int kBits = 8 * static_cast<int>(sizeof(T));

  static U TermOf(Term term, uint64_t a, uint64_t b) {
    if (term == Term::kA) return static_cast<U>(a);
    using Product = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    const Product product = static_cast<Product>(FromLane<T>(a)) * static_cast<Product>(FromLane<T>(b));
    return static_cast<U>(term == Term::kProductLow ? product : product >> kBits);
  }

  static void Run(const AluOperation& operation, const AluArguments& arguments) {
    const CarryForm form = Unpack(operation.parameter);
    const size_t last = form.term == Term::kA ? 1 : 2;
    for (int i = 0; i < kWarpSize; ++i) {
      if (((arguments.mask >> i) & 1u) == 0) continue;
      const auto lane = static_cast<size_t>(i);
      const U first = TermOf(form.term, arguments.sources[0]->lane[lane], arguments.sources[1]->lane[lane]);
      const U second = static_cast<U>(arguments.sources[last]->lane[lane]);
      const unsigned carry_in = form.reads ? (*arguments.carry >> i) & 1u : 0u;
      using Wide = unsigned __int128;
      const Wide sum = form.subtract ? Wide{first} - Wide{second} - carry_in : Wide{first} + Wide{second} + carry_in;
      if (arguments.destination != nullptr) arguments.destination->lane[lane] = static_cast<U>(sum);
      if (form.writes) {
        const LaneMask carry_out = static_cast<LaneMask>((sum >> kBits) & 1u);
        *arguments.carry = (*arguments.carry & ~(1u << i)) | carry_out << i;
      }
    }
  }
};

}  // namespace

absl::StatusOr<AluOperation> DecodeCarry(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const std::optional<Type> type = reader.TakeType();
  if (!type) return reader.Unknown();
  CarryForm form;
  form.writes = reader.Take("cc");
  form.reads = opcode.back() == 'c';
  form.subtract = opcode.substr(0, 3) == "sub";
  const bool mad = opcode.substr(0, 3) == "mad";
  if (mad) {
    const std::optional<int> part = reader.TakeOneOf({"lo", "hi"});
    if (!part) return reader.Unknown();
    form.term = *part == 0 ? Term::kProductLow : Term::kProductHigh;
  }
  AluOperation operation;
  operation.uses_carry = true;
  operation.parameter = Pack(form);
  operation.function = ForInteger(*type, [](auto zero) -> AluFunction {
    using T = decltype(zero);
    if constexpr (sizeof(T) >= 4) return &CarryBody<T>::Run;
    return nullptr;
  });
  if (mad) return reader.Finish(operation, {*type, *type, *type});
  return reader.Finish(operation, {*type, *type});
}

}  // namespace fsr::sim::alu
