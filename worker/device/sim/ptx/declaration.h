// Variable and parameter declarations, with their initial values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/sim/ptx/lexer.h"
#include "worker/device/sim/ptx/module.h"

namespace fsr::sim::ptx {

inline constexpr uint64_t kVariableBytesMax = uint64_t{1} << 40;
inline constexpr uint64_t kInitialBytesMax = uint64_t{1} << 28;

// ".global" and so on; nullopt for any other directive.
std::optional<StateSpace> StateSpaceOf(std::string_view directive);

// Size of a fundamental type named without its dot ("f32", "b8", "pred"); nullopt if it is none.
std::optional<uint32_t> TypeBytes(std::string_view type);

// What stands before the names of a declaration, from after the state space: ".align 4 .v2 .f32". The name is empty.
absl::StatusOr<Variable> ParseDeclarationHead(Cursor& cursor, StateSpace space);

// A name with its dimensions and initial value: "x[4] = {1, 2}".
absl::StatusOr<Variable> ParseDeclarator(Cursor& cursor, const Variable& head);

// "name, name[8] = …;" after the state space, with the semicolon.
absl::StatusOr<std::vector<Variable>> ParseVariables(Cursor& cursor, StateSpace space);

// "(.param .u64 a, .param .b32 b)". Of a definition: each has a name.
absl::StatusOr<std::vector<Variable>> ParseParameters(Cursor& cursor);

}  // namespace fsr::sim::ptx
