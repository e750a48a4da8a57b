// The body of a function.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "worker/device/sim/ptx/lexer.h"
#include "worker/device/sim/ptx/module.h"
#include "worker/device/sim/ptx/source_positions.h"

namespace fsr::sim::ptx {

// Registers that one module may declare: "%r<4000000000>" is short to write.
inline constexpr uint64_t kRegistersMax = uint64_t{1} << 20;

struct BodyContext {
  SourcePositions positions;
  uint64_t registers_declared = 0;
};

// From the opening to the closing brace, into `function`, whose parameters are known. `handles` gets the position of
// each instruction, to be resolved when every .file has been read.
absl::Status ParseBody(Cursor& cursor, BodyContext& context, Function& function, std::vector<uint32_t>& handles);

// ".loc 1 20 5" and so on, after ".loc" itself.
absl::StatusOr<uint32_t> ParseLocation(Cursor& cursor, SourcePositions& positions);

}  // namespace fsr::sim::ptx
