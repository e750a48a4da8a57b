// A whole task made by hand.
#pragma once

#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"

namespace fsr::testing {

// Transposes a matrix; judged on 33 x 65 and, held out, on 100 x 257; measured on 1024 x 1024, simulated on 256 x 256.
// The tunable kernel has TILE = 32, 8, 16, 64 and ROWS = 8, 4, 16, 32 (of which TILE 64 with ROWS 32 has too many
// threads to be launched).
v1::Task TransposeTask();

// A simulated H200.
v1::DeviceFacts SimulatedH200();

}  // namespace fsr::testing
