// Tensor-core instructions: mma.sync, wmma.*, ldmatrix and stmatrix.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "worker/device/sim/program.h"

namespace fsr::sim {

enum class MatrixElement : uint8_t { kF16, kBf16, kTf32, kF32, kF64, kS8, kU8, kS32 };

// How the elements of a matrix lie in the registers of a warp.
enum class FragmentLayout : uint8_t {
  kMmaA,  // as the PTX ISA lays out mma.m16n8k*: eight rows of four lanes
  kMmaB,
  kMmaC,
  kDense,  // wmma leaves it to the implementation: row-major, the same number of elements in each lane
};

struct Fragment {
  FragmentLayout layout = FragmentLayout::kDense;
  MatrixElement element = MatrixElement::kF16;
  uint32_t rows = 0, columns = 0;
  std::vector<ValueRef> registers;
};

struct MatrixStep {
  enum class Kind : uint8_t { kMultiply, kLoad, kStore, kLoadEights, kStoreEights };
  Kind kind = Kind::kMultiply;
  // kMultiply: d = a * b + c.
  Fragment d, a, b, c;
  bool saturate = false;  // s32 sums stay within their range
  // kLoad (into d) and kStore (from d): a matrix in memory.
  MemoryOperand where;
  ValueRef stride;            // in elements; absent: the rows are dense
  bool column_major = false;  // in memory
  // kLoadEights (ldmatrix) and kStoreEights (stmatrix): 8x8 matrices of 16 bits, one a register of d.
  bool transposed = false;
};

uint32_t BytesOf(MatrixElement element);

}  // namespace fsr::sim
