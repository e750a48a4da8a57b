// Operands of an instruction, their names resolved by scope.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "worker/device/sim/ptx/lexer.h"
#include "worker/device/sim/ptx/module.h"
#include "worker/device/sim/ptx/scope.h"

namespace fsr::sim::ptx {

absl::StatusOr<Operand> ParseOperand(Cursor& cursor, const Scopes& scopes);

// The name that `name` stands for where `scopes` are open: itself if none of them declares it.
std::string ResolveName(const Scopes& scopes, std::string_view name);

// "(a, b)": of a call.
absl::StatusOr<std::vector<std::string>> ParseCallList(Cursor& cursor, const Scopes& scopes);

}  // namespace fsr::sim::ptx
