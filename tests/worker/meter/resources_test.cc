#include "worker/meter/resources.h"

#include <catch2/catch.hpp>

namespace fsr {
namespace {

TEST_CASE("each different launch has its resources, also a template that the compiler knows by another name") {
  CompiledKernel compiled;
  compiled.lowered_names["sum<256>"] = "_Z3sumILi256EEvPf";
  v1::Resources& sum = compiled.resources.emplace_back();
  sum.set_kernel("_Z3sumILi256EEvPf");
  sum.set_registers_per_thread(40);
  v1::Resources& last = compiled.resources.emplace_back();
  last.set_kernel("last");
  last.set_registers_per_thread(12);
  last.set_shared_bytes_static(1024);

  ResolvedPlan plan;
  ResolvedLaunch launch;
  launch.kernel = "sum<256>";
  launch.grid = {100, 2, 1};
  launch.block = {256, 1, 1};
  launch.shared_bytes = 4096;
  plan.launches = {launch, launch};
  launch.grid = {1, 1, 1};
  plan.launches.push_back(launch);
  launch.kernel = "last";
  launch.shared_bytes = 0;
  plan.launches.push_back(launch);

  const std::vector<v1::Resources> found = ResourcesOf(compiled, plan);
  REQUIRE(found.size() == 3);
  CHECK(found[0].kernel() == "sum<256>");
  CHECK(found[0].registers_per_thread() == 40);
  CHECK(found[0].shared_bytes_dynamic() == 4096);
  CHECK(found[0].grid().x() == 100);
  CHECK(found[0].grid().y() == 2);
  CHECK(found[1].grid().x() == 1);
  CHECK(found[2].registers_per_thread() == 12);
  CHECK(found[2].shared_bytes_static() == 1024);
  CHECK(found[2].block().x() == 256);
}

}  // namespace
}  // namespace fsr
