// A module on the simulated device: its variables in memory, its kernels decoded when first launched.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/device.h"
#include "worker/device/sim/decode.h"
#include "worker/device/sim/memory.h"
#include "worker/device/sim/program.h"
#include "worker/device/sim/ptx/module.h"

namespace fsr::sim {

class LoadedModule : public DeviceModule {
 public:
  // INVALID_ARGUMENT if the PTX cannot be read, RESOURCE_EXHAUSTED if its variables do not fit. `memory` outlives it.
  static absl::StatusOr<std::unique_ptr<LoadedModule>> Load(const CompiledKernel& kernel, Memory& memory);
  ~LoadedModule() override;

  // By the name as launched. NOT_FOUND lists the kernels that there are.
  absl::StatusOr<const Program*> FindProgram(const std::string& kernel);
  // What the compiler says of the kernel; null if it says nothing.
  const v1::Resources* FindResources(const std::string& kernel) const;

 private:
  explicit LoadedModule(Memory& memory) : memory_(memory) {}
  absl::Status PlaceVariables();
  void WriteInitialValue(const ptx::Variable& variable, std::byte* host) const;
  std::string NameInPtx(const std::string& kernel) const;

  Memory& memory_;
  ptx::Module module_;
  std::map<std::string, std::string> lowered_names_;
  std::vector<v1::Resources> resources_;
  SymbolAddresses symbols_;
  std::vector<uint32_t> slots_;
  std::map<std::string, std::unique_ptr<Program>> programs_;  // by the name in PTX
};

}  // namespace fsr::sim
