// The initial value of a variable, into bytes and relocations.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "worker/device/sim/ptx/lexer.h"
#include "worker/device/sim/ptx/module.h"

namespace fsr::sim::ptx {

// What follows the '=' of a declaration. Fills `initial` and `relocations`; a first dimension written "[]" gets its
// size here.
absl::Status ParseInitialValue(Cursor& cursor, std::vector<uint64_t> dimensions, Variable& variable);

}  // namespace fsr::sim::ptx
