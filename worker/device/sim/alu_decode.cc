#include "worker/device/sim/alu_decode.h"

#include <algorithm>
#include <cfenv>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace fsr::sim::alu {
namespace {

struct TypeRow {
  std::string_view name;
  Kind kind;
  int bits;
};

// By Type.
constexpr TypeRow kTypes[] = {
    {"u8", Kind::kInteger, 8},     {"u16", Kind::kInteger, 16},   {"u32", Kind::kInteger, 32},
    {"u64", Kind::kInteger, 64},   {"s8", Kind::kInteger, 8},     {"s16", Kind::kInteger, 16},
    {"s32", Kind::kInteger, 32},   {"s64", Kind::kInteger, 64},   {"b8", Kind::kInteger, 8},
    {"b16", Kind::kInteger, 16},   {"b32", Kind::kInteger, 32},   {"b64", Kind::kInteger, 64},
    {"b128", Kind::kInteger, 128}, {"u16x2", Kind::kInteger, 32}, {"s16x2", Kind::kInteger, 32},
    {"f16", Kind::kHalf, 16},      {"bf16", Kind::kHalf, 16},     {"f16x2", Kind::kHalf, 32},
    {"bf16x2", Kind::kHalf, 32},   {"f32", Kind::kFloat, 32},     {"f64", Kind::kFloat, 64},
    {"tf32", Kind::kFloat, 32},    {"e4m3x2", Kind::kFloat, 16},  {"e5m2x2", Kind::kFloat, 16},
    {"pred", Kind::kInteger, 1},
};
static_assert(std::size(kTypes) == static_cast<size_t>(Type::kPredicate) + 1);

const TypeRow& RowOf(Type type) { return kTypes[static_cast<size_t>(type)]; }

}  // namespace

std::string_view NameOf(Type type) { return RowOf(type).name; }

std::optional<Type> TypeOf(std::string_view modifier) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].name == modifier) return static_cast<Type>(i);
  }
  return std::nullopt;
}

Kind KindOf(Type type) { return RowOf(type).kind; }
int BitsOf(Type type) { return RowOf(type).bits; }
bool IsSigned(Type type) { return RowOf(type).name.front() == 's'; }
bool IsHalf(Type type) { return KindOf(type) == Kind::kHalf; }
bool IsPacked(Type type) { return NameOf(type).substr(NameOf(type).size() - 2) == "x2"; }

int FenvRounding(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return FE_TOWARDZERO;
    case Rounding::kDown:
      return FE_DOWNWARD;
    case Rounding::kUp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

Reader::Reader(const ptx::Instruction& instruction)
    : instruction_(instruction), left_(instruction.modifiers.begin(), instruction.modifiers.end()) {}

bool Reader::Take(std::string_view modifier) {
  const auto found = std::find(left_.begin(), left_.end(), modifier);
  if (found == left_.end()) return false;
  left_.erase(found);
  return true;
}

std::optional<Type> Reader::TakeType() {
  for (auto it = left_.begin(); it != left_.end(); ++it) {
    if (const std::optional<Type> type = TypeOf(*it)) {
      left_.erase(it);
      return type;
    }
  }
  return std::nullopt;
}

std::optional<int> Reader::TakeOneOf(std::initializer_list<std::string_view> names) {
  int index = 0;
  for (const std::string_view name : names) {
    if (Take(name)) return index;
    ++index;
  }
  return std::nullopt;
}

std::optional<Rounding> Reader::TakeRounding() {
  const std::optional<int> index = TakeOneOf({"rn", "rz", "rm", "rp"});
  return index ? std::optional(static_cast<Rounding>(*index)) : std::nullopt;
}

std::optional<Rounding> Reader::TakeIntegralRounding() {
  const std::optional<int> index = TakeOneOf({"rni", "rzi", "rmi", "rpi"});
  return index ? std::optional(static_cast<Rounding>(*index)) : std::nullopt;
}

absl::Status Reader::Unknown() const {
  return absl::UnimplementedError(fmt::format("the simulator does not implement {}", instruction_.full));
}

absl::StatusOr<AluOperation> Reader::Finish(AluOperation operation, std::initializer_list<AluBinding> bindings,
                                            std::initializer_list<Type> source_types) const {
  return Bind(std::move(operation), bindings, source_types);
}

absl::StatusOr<AluOperation> Reader::Finish(AluOperation operation, std::initializer_list<Type> source_types) const {
  std::vector<AluBinding> bindings(1 + source_types.size(), AluBinding::kSource);
  bindings.front() = AluBinding::kDestination;
  return Bind(std::move(operation), std::move(bindings), source_types);
}

absl::StatusOr<AluOperation> Reader::Bind(AluOperation operation, std::vector<AluBinding> bindings,
                                          std::initializer_list<Type> source_types) const {
  if (!left_.empty() || operation.function == nullptr) return Unknown();
  if (operand_count() != bindings.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} takes {} operands and has {}", instruction_.full, bindings.size(), operand_count()));
  }
  operation.bindings = std::move(bindings);
  size_t index = 0;
  for (const Type type : source_types) operation.source_types[index++] = NameOf(type);
  return operation;
}

}  // namespace fsr::sim::alu
