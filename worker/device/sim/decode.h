// PTX into a Program: done once for each kernel that is launched.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "worker/device/sim/program.h"
#include "worker/device/sim/ptx/module.h"

namespace fsr::sim {

// Addresses of the module's global and const variables, by name.
using SymbolAddresses = std::map<std::string, uint64_t, std::less<>>;

// NOT_FOUND if the module has no such kernel; the message lists those that it has.
absl::StatusOr<Program> DecodeKernel(const ptx::Module& module, std::string_view kernel,
                                     const SymbolAddresses& symbols);

// The address of a function as a value, by its place among the module's functions. So a function pointer in a global
// variable means the same in every kernel's Program.
uint64_t FunctionAddress(const ptx::Module& module, std::string_view name);  // 0: no such function

}  // namespace fsr::sim
