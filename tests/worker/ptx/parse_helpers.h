// Short cuts for tests of the PTX parser.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "common/status.h"
#include "worker/device/sim/ptx/parser.h"

namespace fsr::sim::ptx {

inline constexpr std::string_view kPtxHeader = ".version 9.0\n.target sm_90a\n.address_size 64\n";

// Module directives start on line 4.
inline Module ParseModuleOrFail(std::string_view directives) {
  absl::StatusOr<Module> module = ParseModule(std::string(kPtxHeader) + std::string(directives));
  INFO((module.ok() ? std::string() : MessageOf(module.status())));
  REQUIRE(module.ok());
  return *std::move(module);
}

// Statements start on line 5.
inline Function ParseBodyOrFail(std::string_view statements) {
  Module module = ParseModuleOrFail(".visible .entry k(.param .u64 k_param_0) {\n" + std::string(statements) + "\n}\n");
  REQUIRE(module.functions.size() == 1);
  return std::move(module.functions[0]);
}

// The one instruction of a body with registers %r0-%r9, %rd0-%rd9, %f0-%f9 and %p0-%p9.
inline Instruction ParseInstructionOrFail(std::string_view text) {
  Function function = ParseBodyOrFail(".reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .f32 %f<10>; .reg .pred %p<10>;\n" +
                                      std::string(text));
  REQUIRE(function.instructions.size() == 1);
  return std::move(function.instructions[0]);
}

// Empty if the text parses.
inline std::string ParseError(std::string_view directives) {
  const absl::StatusOr<Module> module = ParseModule(std::string(kPtxHeader) + std::string(directives));
  if (module.ok()) return "";
  CHECK(module.status().code() == absl::StatusCode::kInvalidArgument);
  return MessageOf(module.status());
}

}  // namespace fsr::sim::ptx
