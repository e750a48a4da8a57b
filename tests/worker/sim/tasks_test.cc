// Every kernel that comes with fsr can be simulated.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "common/files.h"
#include "common/launch_plan.h"
#include "common/status.h"
#include "common/task_loader.h"
#include "tests/worker/sim/nvrtc.h"
#include "worker/device/sim/loaded_module.h"
#include "worker/device/sim/memory.h"

namespace fsr::sim {
namespace {

TEST_CASE("each kernel of each task's files decodes") {
  int kernels = 0;
  for (const auto& folder : std::filesystem::directory_iterator(FSR_SOURCE_DIR "/tasks")) {
    const auto task = LoadTask(folder.path());
    CAPTURE(folder.path().string());
    REQUIRE(task.ok());
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      if (file.path().extension() != ".cu") continue;
      CAPTURE(file.path().string());
      const auto source = ReadFile(file.path(), kSourceBytesMax);
      REQUIRE(source.ok());
      const auto plan = ParseLaunchPlan(*source, *task);
      INFO(MessageOf(plan.status()));
      REQUIRE(plan.ok());
      const NvrtcResult compiled = CompileWithNvrtc(*source, "sm_90a", CompileDefinitions(*plan));
      INFO(compiled.log);
      REQUIRE(compiled.ok);
      Memory memory(uint64_t{1} << 30);
      CompiledKernel kernel;
      kernel.ptx = compiled.ptx;
      const auto loaded = LoadedModule::Load(kernel, memory);
      REQUIRE(loaded.ok());
      for (const Launch& launch : plan->launches) {
        if (launch.kernel.find('<') != std::string::npos) continue;  // its lowered name is the compiler's affair
        const auto program = (*loaded)->FindProgram(launch.kernel);
        INFO(MessageOf(program.status()));
        REQUIRE(program.ok());
        CHECK(!(*program)->unsupported_step.has_value());
        ++kernels;
      }
    }
  }
  CHECK(kernels >= 16);
}

}  // namespace
}  // namespace fsr::sim
