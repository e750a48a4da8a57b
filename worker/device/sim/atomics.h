// Read-modify-write operations on memory that other threads may be changing, and the reductions of redux.sync.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fsr::sim {

// Applies the operation at `at`, which is aligned to the type's width, and returns what was there before. `value` is
// operand b, `swap` operand c of cas; both in the low bits.
using AtomicFunction = uint64_t (*)(std::byte* at, uint64_t value, uint64_t swap);
using AtomicFold = uint64_t (*)(uint64_t a, uint64_t b);

// `operation` and `type` as in the opcode ("add", "f16x2"). `flush_subnormals`: what the hardware does for f32 add on
// global memory, and not on shared. Null if there is no such operation.
AtomicFunction FindAtomic(std::string_view operation, std::string_view type, bool flush_subnormals);

// Of redux.sync: add, min, max, and, or, xor on 32 bits; min and max on f32. Null if there is no such operation.
AtomicFold FindFold(std::string_view operation, std::string_view type);

}  // namespace fsr::sim
