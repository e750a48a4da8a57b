#include "worker/device/sim/ptx/initializer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "common/status_macros.h"
#include "worker/device/sim/ptx/declaration.h"
#include "worker/device/sim/ptx/literal.h"

namespace fsr::sim::ptx {
namespace {

constexpr size_t kDimensionsMax = 16;
constexpr uint32_t kAddressBytes = 8;

class InitialValue {
 public:
  InitialValue(Cursor& cursor, std::vector<uint64_t> dimensions, Variable& variable)
      : cursor_(cursor), dimensions_(std::move(dimensions)), variable_(variable) {}

  absl::Status Parse() {
    const bool unsized = !dimensions_.empty() && dimensions_[0] == 0;
    if (variable_.vector_width > 1) dimensions_.push_back(variable_.vector_width);
    if (unsized) dimensions_[0] = kInitialBytesMax / std::max<uint64_t>(Stride(1) * variable_.element_bytes, 1) + 1;
    if (dimensions_.size() > kDimensionsMax) return cursor_.Expected("at most 16 dimensions before this");
    if (dimensions_.empty()) return ParseElement(0);
    RETURN_IF_ERROR(ParseBraces(0, 0));
    if (unsized) {
      const uint64_t row_bytes = Stride(1) * variable_.element_bytes;
      const uint64_t rows = row_bytes == 0 ? 0 : (variable_.initial.size() + row_bytes - 1) / row_bytes;
      variable_.element_count = rows * Stride(1) / variable_.vector_width;
    }
    return absl::OkStatus();
  }

 private:
  // Elements in one brace of this level and below.
  uint64_t Stride(size_t level) const {
    uint64_t stride = 1;
    for (size_t i = level; i < dimensions_.size(); ++i) stride *= dimensions_[i];
    return stride;
  }

  absl::Status ParseBraces(size_t level, uint64_t first) {
    RETURN_IF_ERROR(cursor_.Expect("{"));
    if (cursor_.TakeIf("}")) return absl::OkStatus();
    const uint64_t end = first + Stride(level);
    uint64_t next = first;
    do {
      const bool nested = cursor_.Is("{") && level + 1 < dimensions_.size();
      const uint64_t step = nested ? Stride(level + 1) : 1;
      if (next + step > end) return cursor_.Expected("no more values than the array has elements");
      RETURN_IF_ERROR(nested ? ParseBraces(level + 1, next) : ParseElement(next));
      next += step;
    } while (cursor_.TakeIf(","));
    return cursor_.Expect("}");
  }

  absl::Status ParseElement(uint64_t index) {
    const uint64_t offset = index * variable_.element_bytes;
    if (offset + variable_.element_bytes > kInitialBytesMax) {
      return cursor_.Expected(fmt::format("an initial value of at most {} bytes", kInitialBytesMax));
    }
    if (cursor_.IsKind(Token::Kind::kWord) && !cursor_.Is("WARP_SZ")) {
      if (variable_.element_bytes != kAddressBytes) return cursor_.Expected("a number: an address takes 8 bytes");
      ASSIGN_OR_RETURN(Variable::Relocation relocation, ParseAddress());
      relocation.offset = offset;
      variable_.relocations.push_back(std::move(relocation));
      Write(offset, 0);
      return absl::OkStatus();
    }
    if (cursor_.IsKind(Token::Kind::kNumber) && cursor_.Peek(1).text == "(") return ParseAddressByte(offset);
    ASSIGN_OR_RETURN(const Literal literal, ParseConstant(cursor_));
    ASSIGN_OR_RETURN(const uint64_t bits, ElementBits(literal));
    Write(offset, bits);
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> ElementBits(const Literal& literal) const {
    const std::string& type = variable_.type;
    if (type == "f32" || type == "f64") {
      const uint64_t bits = literal.is_float
                                ? literal.bits
                                : std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(literal.bits)));
      return type == "f64" ? bits : NarrowToFloatBits(bits);
    }
    if (literal.is_float) return cursor_.Expected(fmt::format("an integer, since the type is .{}, before this", type));
    return literal.bits;
  }

  // "symbol", "generic(symbol)", each with "+4" or "-4".
  absl::StatusOr<Variable::Relocation> ParseAddress() {
    Variable::Relocation relocation{};
    relocation.generic = cursor_.Is("generic") && cursor_.Peek(1).text == "(";
    if (relocation.generic) {
      cursor_.Take();
      cursor_.Take();
    }
    ASSIGN_OR_RETURN(const std::string_view symbol, cursor_.ExpectWord("the name of a variable or function"));
    relocation.symbol = std::string(symbol);
    if (relocation.generic) RETURN_IF_ERROR(cursor_.Expect(")"));
    while (cursor_.Is("+") || cursor_.Is("-")) {
      const bool minus = cursor_.Take().text == "-";
      ASSIGN_OR_RETURN(const Literal literal, ParseConstantTerm(cursor_));
      if (literal.is_float) return cursor_.Expected("an integer offset before this");
      const auto addend = static_cast<uint64_t>(relocation.addend);
      relocation.addend = static_cast<int64_t>(minus ? addend - literal.bits : addend + literal.bits);
    }
    return relocation;
  }

  // A packed struct's pointer comes byte by byte: "0xFF(generic(x)), 0xFF00(generic(x)), …". The first byte makes the
  // relocation, the others must continue it.
  absl::Status ParseAddressByte(uint64_t offset) {
    ASSIGN_OR_RETURN(const uint64_t mask, cursor_.ExpectInteger("a byte mask such as 0xFF00"));
    const auto byte = static_cast<uint64_t>(std::countr_zero(mask)) / 8;
    if (mask == 0 || mask != uint64_t{0xff} << (byte * 8) || variable_.element_bytes != 1) {
      return cursor_.Expected("a mask of one byte before this, in an array of bytes");
    }
    RETURN_IF_ERROR(cursor_.Expect("("));
    ASSIGN_OR_RETURN(Variable::Relocation relocation, ParseAddress());
    RETURN_IF_ERROR(cursor_.Expect(")"));
    Write(offset, 0);
    if (byte == 0) {
      relocation.offset = offset;
      variable_.relocations.push_back(std::move(relocation));
      return absl::OkStatus();
    }
    const bool continues = !variable_.relocations.empty() && offset >= byte &&
                           variable_.relocations.back().offset == offset - byte &&
                           variable_.relocations.back().symbol == relocation.symbol;
    if (!continues) return cursor_.Expected("the bytes of an address in order before this");
    return absl::OkStatus();
  }

  void Write(uint64_t offset, uint64_t bits) {
    std::vector<uint8_t>& bytes = variable_.initial;
    bytes.resize(std::max<size_t>(bytes.size(), offset + variable_.element_bytes));
    for (uint64_t i = 0; i < std::min<uint64_t>(variable_.element_bytes, sizeof bits); ++i) {
      bytes[offset + i] = static_cast<uint8_t>(bits >> (8 * i));
    }
  }

  Cursor& cursor_;
  std::vector<uint64_t> dimensions_;
  Variable& variable_;
};

}  // namespace

absl::Status ParseInitialValue(Cursor& cursor, std::vector<uint64_t> dimensions, Variable& variable) {
  return InitialValue(cursor, std::move(dimensions), variable).Parse();
}

}  // namespace fsr::sim::ptx
