// mma, wmma, ldmatrix, stmatrix.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "common/status_macros.h"
#include "worker/device/sim/function_decoder.h"
#include "worker/device/sim/matrix.h"

namespace fsr::sim {
namespace {

std::optional<MatrixElement> ElementOf(std::string_view type) {
  if (type == "f16") return MatrixElement::kF16;
  if (type == "bf16") return MatrixElement::kBf16;
  if (type == "tf32") return MatrixElement::kTf32;
  if (type == "f32") return MatrixElement::kF32;
  if (type == "f64") return MatrixElement::kF64;
  if (type == "s8") return MatrixElement::kS8;
  if (type == "u8") return MatrixElement::kU8;
  if (type == "s32") return MatrixElement::kS32;
  return std::nullopt;
}

struct Shape {
  uint32_t m = 0, n = 0, k = 0;
};

// "m16n8k16".
std::optional<Shape> ShapeOf(const ptx::Instruction& instruction) {
  for (const std::string& modifier : instruction.modifiers) {
    const size_t n = modifier.find('n'), k = modifier.find('k');
    if (modifier.front() != 'm' || n == std::string::npos || k == std::string::npos) continue;
    Shape shape;
    const char* const text = modifier.data();
    std::from_chars(text + 1, text + n, shape.m);
    std::from_chars(text + n + 1, text + k, shape.n);
    std::from_chars(text + k + 1, text + modifier.size(), shape.k);
    if (shape.m != 0 && shape.n != 0 && shape.k != 0) return shape;
  }
  return std::nullopt;
}

std::vector<MatrixElement> ElementsOf(const ptx::Instruction& instruction) {
  std::vector<MatrixElement> elements;
  for (const std::string& modifier : instruction.modifiers) {
    if (const auto element = ElementOf(modifier)) elements.push_back(*element);
  }
  return elements;
}

bool IsPossible(const Shape& shape, const Fragment& a, const Fragment& d, bool wmma) {
  const bool integer = a.element == MatrixElement::kS8 || a.element == MatrixElement::kU8;
  const bool sums_match = integer                            ? d.element == MatrixElement::kS32
                          : a.element == MatrixElement::kF64 ? d.element == MatrixElement::kF64
                          : a.element == MatrixElement::kF16
                              ? d.element == MatrixElement::kF16 || d.element == MatrixElement::kF32
                              : d.element == MatrixElement::kF32;
  if (!sums_match) return false;
  if (wmma) return shape.m * shape.n == 256 || (shape.m == 8 && shape.n == 8);
  // mma.m8n8k4 on f16 has a layout of its own, from the first tensor cores.
  const bool rows_fit = shape.m == 16 || (shape.m == 8 && a.element == MatrixElement::kF64);
  const uint32_t columns_of_lanes = 4 * std::max(4 / BytesOf(a.element), 1u);
  return rows_fit && shape.n == 8 && shape.k % columns_of_lanes == 0;
}

}  // namespace

uint32_t BytesOf(MatrixElement element) {
  switch (element) {
    case MatrixElement::kS8:
    case MatrixElement::kU8:
      return 1;
    case MatrixElement::kF16:
    case MatrixElement::kBf16:
      return 2;
    case MatrixElement::kF64:
      return 8;
    default:
      return 4;
  }
}

absl::Status FunctionDecoder::BindFragment(const Operand& operand, bool destination, Fragment& fragment) {
  const std::vector<Operand> elements =
      operand.kind == Operand::Kind::kVector ? operand.elements : std::vector<Operand>{operand};
  for (const Operand& element : elements) {
    const std::string_view type = fragment.element == MatrixElement::kF64 ? "f64" : "b32";
    ASSIGN_OR_RETURN(const ValueRef ref, destination ? Destination(element) : Source(element, type));
    fragment.registers.push_back(ref);
  }
  const uint32_t per_register = std::max(4 / BytesOf(fragment.element), 1u);
  const uint32_t needed = fragment.rows * fragment.columns / kWarpSize;
  if (fragment.registers.size() * per_register < needed) {
    return absl::InvalidArgumentError(
        fmt::format("has {} registers for {} elements a lane", fragment.registers.size(), needed));
  }
  return absl::OkStatus();
}

FunctionDecoder::Decoded FunctionDecoder::DecodeMultiply(const Instruction& instruction, bool wmma) {
  const std::optional<Shape> shape = ShapeOf(instruction);
  std::vector<MatrixElement> types = ElementsOf(instruction);
  // wmma on f16 names only the types of d and c.
  if (wmma && types.size() == 2) types = {types[0], MatrixElement::kF16, MatrixElement::kF16, types[1]};
  const bool known = shape.has_value() && types.size() == 4 && instruction.operands.size() == 4;
  if (!known || (!wmma && (!HasModifier(instruction, "row") || !HasModifier(instruction, "col")))) {
    return Unknown();
  }
  const auto layout = [&](FragmentLayout of_mma) { return wmma ? FragmentLayout::kDense : of_mma; };
  auto step = std::make_shared<MatrixStep>();
  step->d = {layout(FragmentLayout::kMmaC), types[0], shape->m, shape->n, {}};
  step->a = {layout(FragmentLayout::kMmaA), types[1], shape->m, shape->k, {}};
  step->b = {layout(FragmentLayout::kMmaB), types[2], shape->k, shape->n, {}};
  step->c = {layout(FragmentLayout::kMmaC), types[3], shape->m, shape->n, {}};
  step->saturate = HasModifier(instruction, "satfinite");
  for (const char* modifier : {"sp", "sp::ordered_metadata", "kind::f8f6f4", "xor", "and"}) {
    if (HasModifier(instruction, modifier)) return Unknown();
  }
  if (!IsPossible(*shape, step->a, step->d, wmma)) return Unknown();
  RETURN_IF_ERROR(BindFragment(instruction.operands[0], true, step->d));
  RETURN_IF_ERROR(BindFragment(instruction.operands[1], false, step->a));
  RETURN_IF_ERROR(BindFragment(instruction.operands[2], false, step->b));
  RETURN_IF_ERROR(BindFragment(instruction.operands[3], false, step->c));
  return MakeStep<std::shared_ptr<const MatrixStep>>(Op::kMatrix, Pipe::kTensor, program_.matrices, step);
}

// wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {…}, [p], stride; the store has the address first.
FunctionDecoder::Decoded FunctionDecoder::DecodeMatrixAccess(const Instruction& instruction) {
  const std::optional<Shape> shape = ShapeOf(instruction);
  const std::vector<MatrixElement> types = ElementsOf(instruction);
  const bool load = HasModifier(instruction, "load");
  if (!shape.has_value() || types.size() != 1 || instruction.operands.size() < 2) return Unknown();
  auto step = std::make_shared<MatrixStep>();
  step->kind = load ? MatrixStep::Kind::kLoad : MatrixStep::Kind::kStore;
  step->d.element = types[0];
  const bool is_a = HasModifier(instruction, "a"), is_b = HasModifier(instruction, "b");
  step->d.rows = is_b ? shape->k : shape->m;
  step->d.columns = is_a ? shape->k : shape->n;
  step->column_major = HasModifier(instruction, "col");
  RETURN_IF_ERROR(BindFragment(instruction.operands[load ? 0 : 1], load, step->d));
  ASSIGN_OR_RETURN(step->where, Address(instruction.operands[load ? 1 : 0], SpaceOf(instruction)));
  if (instruction.operands.size() > 2) {
    ASSIGN_OR_RETURN(step->stride, Source(instruction.operands[2], "u32"));
  }
  const Pipe pipe = step->where.space == Space::kShared ? Pipe::kShared : Pipe::kGlobal;
  return MakeStep<std::shared_ptr<const MatrixStep>>(Op::kMatrix, pipe, program_.matrices, step);
}

// ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {…}, [p]; stmatrix has the address first.
FunctionDecoder::Decoded FunctionDecoder::DecodeEights(const Instruction& instruction) {
  const bool load = instruction.opcode == "ldmatrix";
  if (!HasModifier(instruction, "m8n8") || !HasModifier(instruction, "b16") || instruction.operands.size() != 2) {
    return Unknown();
  }
  auto step = std::make_shared<MatrixStep>();
  step->kind = load ? MatrixStep::Kind::kLoadEights : MatrixStep::Kind::kStoreEights;
  step->transposed = HasModifier(instruction, "trans");
  RETURN_IF_ERROR(BindFragment(instruction.operands[load ? 0 : 1], load, step->d));
  const size_t expected = HasModifier(instruction, "x4") ? 4 : HasModifier(instruction, "x2") ? 2 : 1;
  if (step->d.registers.size() != expected) {
    return absl::InvalidArgumentError(
        fmt::format("names {} registers for {} matrices", step->d.registers.size(), expected));
  }
  ASSIGN_OR_RETURN(step->where, Address(instruction.operands[load ? 1 : 0], SpaceOf(instruction)));
  return MakeStep<std::shared_ptr<const MatrixStep>>(Op::kMatrix, Pipe::kShared, program_.matrices, step);
}

FunctionDecoder::Decoded FunctionDecoder::DecodeMatrix(const Instruction& instruction) {
  if (instruction.opcode == "ldmatrix" || instruction.opcode == "stmatrix") return DecodeEights(instruction);
  const bool wmma = instruction.opcode == "wmma";
  if (wmma && (HasModifier(instruction, "load") || HasModifier(instruction, "store"))) {
    return DecodeMatrixAccess(instruction);
  }
  return DecodeMultiply(instruction, wmma);
}

}  // namespace fsr::sim
