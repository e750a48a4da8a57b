// One warm worker on the GPU for all tests of the executable.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "tests/gpu/lab.h"
#include "tests/gpu/small_task.h"

namespace fsr {

// On $FSR_TEST_DEVICE, by default cuda:0. Trouble of ours fails the test; what the kernel does wrong is the result.
v1::Evaluation EvaluateOnGpu(const v1::Task& task, const std::string& source, double run_seconds = 5);

// What is known of a failure, for INFO.
std::string Explain(const v1::Evaluation& evaluation);

// The same worker still measures a right kernel, and finds a wrong one wrong.
void CheckGpuWorks();

}  // namespace fsr
