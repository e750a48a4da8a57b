#include "worker/runner/instruction_rules.h"

#include <catch2/catch.hpp>

namespace fsr {
namespace {

v1::Task Rules() {
  v1::Task task;
  task.add_required_instructions("wgmma.");
  task.add_forbidden_instructions("atom");
  return task;
}

TEST_CASE("executions are counted by the prefixes that the task asks for") {
  const auto counts = CountAskedFor(Rules(), {{"wgmma.fence.sync.aligned", 3},
                                              {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", 5},
                                              {"ld.global.f32", 100}});
  CHECK(counts == std::map<std::string, uint64_t>{{"wgmma.", 8}, {"atom", 0}});
  CHECK_FALSE(FindBrokenRule(Rules(), counts).has_value());
}

TEST_CASE("a required instruction that is never executed breaks the rules, as does a forbidden one that is") {
  auto missing = FindBrokenRule(Rules(), CountAskedFor(Rules(), {}));
  REQUIRE(missing.has_value());
  CHECK(missing->prefix == "wgmma.");
  auto forbidden = FindBrokenRule(Rules(), CountAskedFor(Rules(), {{"wgmma.fence", 1}, {"atom.global.add.f32", 1}}));
  REQUIRE(forbidden.has_value());
  CHECK(forbidden->prefix == "atom");
}

TEST_CASE("instructions stand in PTX behind guards, braces and other statements, never in comments") {
  const auto counts = CountInPtx(Rules(), R"(
.visible .entry f() {
  // atom.global.add.f32 is not here
  @%p1 wgmma.fence.sync.aligned;
  { .reg .pred p; setp.ne.b32 p, %r1, 0; wgmma.commit_group.sync.aligned; }
  @!p	atom.shared.add.u32 %r1, [%rd1], 1;
  mov.u32 %r_atom, 1;
})");
  CHECK(counts == std::map<std::string, uint64_t>{{"wgmma.", 2}, {"atom", 1}});
}

}  // namespace
}  // namespace fsr
