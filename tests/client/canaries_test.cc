#include "client/canaries.h"

#include <catch2/catch.hpp>

#include "client/session.h"
#include "common/launch_plan.h"
#include "common/task_loader.h"

namespace fsr {
namespace {

v1::Task BundledTask(const std::string& name) {
  auto task = LoadTask(std::filesystem::path(FSR_SOURCE_DIR) / "tasks" / name);
  REQUIRE(task.ok());
  return *task;
}

}  // namespace

TEST_CASE("every bundled task gets canaries whose launch lines resolve on all of its cases") {
  for (const char* name :
       {"transpose", "sigmoid", "dot_product", "reduction", "prefix_sum", "histogram", "matmul", "monte_carlo"}) {
    const v1::Task task = BundledTask(name);
    const std::vector<Canary> canaries = CanariesOf(task);
    CHECK(canaries.size() >= 3);
    for (const Canary& canary : canaries) {
      INFO(name << ": " << canary.name << "\n" << canary.source);
      auto plan = ParseLaunchPlan(canary.source, task);
      REQUIRE(plan.ok());
      for (const v1::Case& which : task.cases()) CHECK(Resolve(*plan, task, which).ok());
    }
  }
}

TEST_CASE("short and full names of jobs and candidates mean the same") {
  CHECK(FullJobName("transpose-7") == "jobs/transpose-7");
  CHECK(FullJobName("jobs/transpose-7") == "jobs/transpose-7");
  CHECK(FullCandidateName("transpose-7/3") == "jobs/transpose-7/candidates/3");
  CHECK(FullCandidateName("jobs/transpose-7/candidates/3") == "jobs/transpose-7/candidates/3");
  CHECK(FullCandidateName("transpose-7") == "jobs/transpose-7");
}

}  // namespace fsr
