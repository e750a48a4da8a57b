#include "worker/device/sim/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "common/element_type.h"
#include "worker/device/sim/operations.h"

namespace fsr::sim {
namespace {

// Bytes of a row of ldmatrix and stmatrix, and rows of each matrix.
constexpr uint32_t kEightsRowBytes = 16;
constexpr uint32_t kEightsRows = 8;

// Where an element stands.
struct Place {
  uint32_t lane, reg, part;
};

// PTX ISA, "Matrix Fragments for mma": lane 4 * g + t holds rows g and g + 8, and columns (rows for B) in groups of as
// many elements as fit a register.
Place FindElement(const Fragment& fragment, uint32_t row, uint32_t column) {
  const uint32_t per_register = std::max(4 / BytesOf(fragment.element), 1u);
  switch (fragment.layout) {
    case FragmentLayout::kMmaA: {
      const uint32_t group = column / (4 * per_register), inside = column % (4 * per_register);
      const uint32_t rows_of_eight = fragment.rows / 8;
      return {row % 8 * 4 + inside / per_register, group * rows_of_eight + row / 8, inside % per_register};
    }
    case FragmentLayout::kMmaB: {
      const uint32_t group = row / (4 * per_register), inside = row % (4 * per_register);
      return {column % 8 * 4 + inside / per_register, group, inside % per_register};
    }
    case FragmentLayout::kMmaC: {
      const uint32_t number = row / 8 * 2 + column % 2;  // of the lane's elements
      return {row % 8 * 4 + column / 2, number / per_register, number % per_register};
    }
    case FragmentLayout::kDense:
      break;
  }
  const uint32_t per_lane = fragment.rows * fragment.columns / kWarpSize;
  const uint32_t number = row * fragment.columns + column;
  return {number / per_lane, number % per_lane / per_register, number % per_lane % per_register};
}

uint64_t ReadElement(const Warp& warp, const Fragment& fragment, Place place) {
  const uint64_t word = warp.Value(fragment.registers[place.reg])->lane[place.lane];
  const uint32_t bits = BytesOf(fragment.element) * 8;
  return bits == 64 ? word : word >> (place.part * bits) & ((uint64_t{1} << bits) - 1);
}

void WriteElement(Warp& warp, const Fragment& fragment, Place place, uint64_t value) {
  uint64_t& word = warp.Target(fragment.registers[place.reg])->lane[place.lane];
  const uint32_t bits = BytesOf(fragment.element) * 8;
  if (bits == 64) {
    word = value;
    return;
  }
  const uint64_t mask = ((uint64_t{1} << bits) - 1) << (place.part * bits);
  word = (word & ~mask & kFullMask) | (value << (place.part * bits) & mask);
}

double ToNumber(MatrixElement element, uint64_t bits) {
  const uint32_t low = static_cast<uint32_t>(bits);
  switch (element) {
    case MatrixElement::kF16:
      return static_cast<double>(HalfToFloat(static_cast<uint16_t>(bits)));
    case MatrixElement::kBf16:
      return static_cast<double>(Bfloat16ToFloat(static_cast<uint16_t>(bits)));
    // The hardware does not look at the 13 bits that TF32 does not have.
    case MatrixElement::kTf32:
      return static_cast<double>(std::bit_cast<float>(low & 0xffffe000u));
    case MatrixElement::kF32:
      return static_cast<double>(std::bit_cast<float>(low));
    case MatrixElement::kF64:
      return std::bit_cast<double>(bits);
    case MatrixElement::kS8:
      return static_cast<double>(static_cast<int8_t>(bits));
    case MatrixElement::kU8:
      return static_cast<double>(static_cast<uint8_t>(bits));
    case MatrixElement::kS32:
      return static_cast<double>(static_cast<int32_t>(low));
  }
  return 0;
}

// Sums of integers are exact in a double: 32 products of 16 bits and one of 32.
uint64_t FromNumber(MatrixElement element, double value, bool saturate) {
  switch (element) {
    case MatrixElement::kF16:
      return FloatToHalf(static_cast<float>(value));
    case MatrixElement::kF64:
      return std::bit_cast<uint64_t>(value);
    case MatrixElement::kS32: {
      int64_t number = static_cast<int64_t>(value);
      if (saturate) {
        number = std::clamp<int64_t>(number, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      }
      return static_cast<uint32_t>(number);
    }
    default:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
}

std::vector<double> Gather(const Warp& warp, const Fragment& fragment) {
  std::vector<double> numbers(size_t{fragment.rows} * fragment.columns);
  for (uint32_t row = 0; row < fragment.rows; ++row) {
    for (uint32_t column = 0; column < fragment.columns; ++column) {
      const uint64_t bits = ReadElement(warp, fragment, FindElement(fragment, row, column));
      numbers[size_t{row} * fragment.columns + column] = ToNumber(fragment.element, bits);
    }
  }
  return numbers;
}

// The hardware sums products of limited width in an order that is not documented; here sums are made in double and
// rounded once, so they are at least as good.
void Multiply(Warp& warp, const MatrixStep& matrix) {
  const std::vector<double> a = Gather(warp, matrix.a), b = Gather(warp, matrix.b);
  std::vector<double> sums = Gather(warp, matrix.c);
  const uint32_t columns = matrix.d.columns, depth = matrix.a.columns;
  for (uint32_t row = 0; row < matrix.d.rows; ++row) {
    double* const into = sums.data() + size_t{row} * columns;
    for (uint32_t k = 0; k < depth; ++k) {
      const double factor = a[size_t{row} * depth + k];
      for (uint32_t column = 0; column < columns; ++column) into[column] += factor * b[size_t{k} * columns + column];
    }
    for (uint32_t column = 0; column < columns; ++column) {
      WriteElement(warp, matrix.d, FindElement(matrix.d, row, column),
                   FromNumber(matrix.d.element, into[column], matrix.saturate));
    }
  }
  if (warp.block->tally != nullptr) warp.block->tally->TensorMultiplyAdds(uint64_t{matrix.d.rows} * columns * depth);
}

// Each lane moves its own elements: one access of the warp for each element that a lane holds.
bool AccessMatrix(Warp& warp, const Step& step, const MatrixStep& matrix) {
  const Fragment& fragment = matrix.d;
  const bool load = matrix.kind == MatrixStep::Kind::kLoad;
  const uint32_t bytes = BytesOf(fragment.element);
  const uint32_t per_lane = fragment.rows * fragment.columns / kWarpSize;
  const Lanes* stride = matrix.stride.exists() ? warp.Value(matrix.stride) : nullptr;
  Located begin;
  ComputeAddresses(warp, matrix.where, kFullMask, begin);
  for (uint32_t number = 0; number < per_lane; ++number) {
    Located located;
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      const uint32_t index = lane * per_lane + number;
      const uint64_t row = index / fragment.columns, column = index % fragment.columns;
      const uint64_t dense = matrix.column_major ? fragment.rows : fragment.columns;
      const uint64_t leading = stride != nullptr ? stride->lane[lane] & kFullMask : dense;
      const uint64_t element = matrix.column_major ? column * leading + row : row * leading + column;
      located.address[lane] = begin.address[lane] + element * bytes;
    }
    const AccessKind kind = load ? AccessKind::kRead : AccessKind::kWrite;
    if (!LocateAddresses(warp, step, matrix.where.space, bytes, kind, kFullMask, located)) return false;
    TellTally(warp, located, bytes, kind, kFullMask);
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      const uint32_t per_register = std::max(4 / bytes, 1u);
      const Place place{lane, number / per_register, number % per_register};
      uint64_t value = 0;
      if (load) {
        std::memcpy(&value, located.host[lane], bytes);
        WriteElement(warp, fragment, place, value);
      } else {
        value = ReadElement(warp, fragment, place);
        std::memcpy(located.host[lane], &value, bytes);
      }
    }
  }
  return true;
}

// ldmatrix and stmatrix: lane 8 * i + r has the address of row r of matrix i; of each matrix, lane 4 * r + t holds
// columns 2t and 2t + 1 of row r, or, transposed, rows 2t and 2t + 1 of column r.
bool AccessEights(Warp& warp, const Step& step, const MatrixStep& matrix) {
  const uint32_t count = static_cast<uint32_t>(matrix.d.registers.size());
  const uint32_t rows = count * kEightsRows;
  const LaneMask with_address = rows == kWarpSize ? kFullMask : (LaneMask{1} << rows) - 1;
  const bool load = matrix.kind == MatrixStep::Kind::kLoadEights;
  const AccessKind kind = load ? AccessKind::kRead : AccessKind::kWrite;
  Located located;
  if (!Locate(warp, step, matrix.where, kEightsRowBytes, kind, with_address, located)) return false;
  TellTally(warp, located, kEightsRowBytes, kind, with_address);
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t major = lane / 4, minor = lane % 4 * 2 + half;
        const uint32_t row = matrix.transposed ? minor : major, column = matrix.transposed ? major : minor;
        std::byte* const element = located.host[i * kEightsRows + row] + size_t{column} * sizeof(uint16_t);
        const Place place{lane, i, half};
        uint16_t value = 0;
        if (load) {
          std::memcpy(&value, element, sizeof value);
          WriteElement(warp, matrix.d, place, value);
        } else {
          value = static_cast<uint16_t>(ReadElement(warp, matrix.d, place));
          std::memcpy(element, &value, sizeof value);
        }
      }
    }
  }
  return true;
}

}  // namespace

bool RunMatrix(Warp& warp, const Step& step, LaneMask active) {
  if (active != kFullMask) {
    FaultNote note;
    note.kind = fault_kind::kDivergentWarp;
    note.what = fmt::format("{} needs all lanes of the warp, and {} run it",
                            warp.block->context->program->opcodes[step.opcode], std::popcount(active));
    return warp.block->Fail(warp, step, LowestLane(active), std::move(note));
  }
  const MatrixStep& matrix = *warp.block->context->program->matrices[step.detail];
  switch (matrix.kind) {
    case MatrixStep::Kind::kMultiply:
      Multiply(warp, matrix);
      return true;
    case MatrixStep::Kind::kLoad:
    case MatrixStep::Kind::kStore:
      return AccessMatrix(warp, step, matrix);
    default:
      return AccessEights(warp, step, matrix);
  }
}

}  // namespace fsr::sim
