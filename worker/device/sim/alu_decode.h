// Reading an instruction's modifiers: each decoder takes those it knows, and what is left over is not implemented.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/sim/alu.h"

namespace fsr::sim::alu {

enum class Type : uint8_t {
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU16x2,
  kS16x2,
  kF16,
  kBF16,
  kF16x2,
  kBF16x2,
  kF32,
  kF64,
  kTF32,
  kE4M3x2,
  kE5M2x2,
  kPredicate
};

std::string_view NameOf(Type type);
std::optional<Type> TypeOf(std::string_view modifier);

// Which decoder an opcode that several families share belongs to.
enum class Kind : uint8_t { kInteger, kFloat, kHalf };
Kind KindOf(Type type);
int BitsOf(Type type);
bool IsSigned(Type type);  // an integer type with a sign
bool IsHalf(Type type);
bool IsPacked(Type type);  // two 16-bit values in a word

enum class Rounding : uint8_t { kNearestEven, kZero, kDown, kUp, kNearestAway };

// For fesetround. REQUIRES: not kNearestAway.
int FenvRounding(Rounding rounding);

class Reader {
 public:
  explicit Reader(const ptx::Instruction& instruction);

  const ptx::Instruction& instruction() const { return instruction_; }

  // True, once, if the modifier is there.
  bool Take(std::string_view modifier);
  // The leftmost modifier that is a type and was not taken yet.
  std::optional<Type> TakeType();
  // .rn .rz .rm .rp
  std::optional<Rounding> TakeRounding();
  // .rni .rzi .rmi .rpi
  std::optional<Rounding> TakeIntegralRounding();
  // The index in `names` of the first one that is there, or nullopt.
  std::optional<int> TakeOneOf(std::initializer_list<std::string_view> names);

  size_t operand_count() const { return instruction_.operands.size(); }

  // UNIMPLEMENTED with the whole opcode.
  absl::Status Unknown() const;

  // The operation, complete: UNIMPLEMENTED if a modifier was not taken or `operation` has no function, INVALID_ARGUMENT
  // if the number of operands is not that of `bindings`.
  absl::StatusOr<AluOperation> Finish(AluOperation operation, std::initializer_list<AluBinding> bindings,
                                      std::initializer_list<Type> source_types) const;
  // destination, then one source per type: what most instructions have.
  absl::StatusOr<AluOperation> Finish(AluOperation operation, std::initializer_list<Type> source_types) const;

 private:
  absl::StatusOr<AluOperation> Bind(AluOperation operation, std::vector<AluBinding> bindings,
                                    std::initializer_list<Type> source_types) const;

  const ptx::Instruction& instruction_;
  std::vector<std::string_view> left_;
};

using Decoder = absl::StatusOr<AluOperation> (*)(Reader& reader);

// make(T{}) for the C++ type of an integer type; null for other types.
template <class Make>
AluFunction ForInteger(Type type, Make make) {
  switch (type) {
    case Type::kU16:
      return make(uint16_t{});
    case Type::kU32:
      return make(uint32_t{});
    case Type::kU64:
      return make(uint64_t{});
    case Type::kS16:
      return make(int16_t{});
    case Type::kS32:
      return make(int32_t{});
    case Type::kS64:
      return make(int64_t{});
    default:
      return nullptr;
  }
}

// The same by width alone, for operations that do not care for the sign; types of bits too.
template <class Make>
AluFunction ForWidth(Type type, Make make) {
  switch (KindOf(type) == Kind::kInteger && !IsPacked(type) ? BitsOf(type) : 0) {
    case 16:
      return make(uint16_t{});
    case 32:
      return make(uint32_t{});
    case 64:
      return make(uint64_t{});
    default:
      return nullptr;
  }
}

}  // namespace fsr::sim::alu
