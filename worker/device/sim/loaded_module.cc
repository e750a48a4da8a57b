#include "worker/device/sim/loaded_module.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "common/status_macros.h"
#include "worker/device/sim/ptx/parser.h"

namespace fsr::sim {
namespace {

void AddNames(const ptx::Operand& operand, std::set<std::string>& names) {
  if (operand.kind == ptx::Operand::Kind::kSymbol || operand.kind == ptx::Operand::Kind::kAddress) {
    names.insert(operand.name);
  }
  for (const ptx::Operand& element : operand.elements) AddNames(element, names);
}

// Headers leave hundreds of constants in a module that nothing refers to; they get no memory.
std::set<std::string> NamesInUse(const ptx::Module& module) {
  std::set<std::string> names;
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Instruction& instruction : function.instructions) {
      for (const ptx::Operand& operand : instruction.operands) AddNames(operand, names);
    }
  }
  for (const ptx::Variable& variable : module.variables) {
    for (const ptx::Variable::Relocation& relocation : variable.relocations) names.insert(relocation.symbol);
  }
  return names;
}

bool InDeviceMemory(const ptx::Variable& variable) {
  return variable.space == ptx::StateSpace::kGlobal || variable.space == ptx::StateSpace::kConst;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedModule>> LoadedModule::Load(const CompiledKernel& kernel, Memory& memory) {
  std::unique_ptr<LoadedModule> loaded(new LoadedModule(memory));
  ASSIGN_OR_RETURN(loaded->module_, ptx::ParseModule(kernel.ptx));
  loaded->lowered_names_ = kernel.lowered_names;
  loaded->resources_ = kernel.resources;
  RETURN_IF_ERROR(loaded->PlaceVariables());
  return loaded;
}

LoadedModule::~LoadedModule() {
  for (const uint32_t slot : slots_) memory_.Free(slot);
}

absl::Status LoadedModule::PlaceVariables() {
  const std::set<std::string> in_use = NamesInUse(module_);
  std::vector<std::pair<const ptx::Variable*, uint32_t>> placed;
  for (const ptx::Variable& variable : module_.variables) {
    if (!InDeviceMemory(variable) || !in_use.contains(variable.name)) continue;
    const bool writable = variable.space == ptx::StateSpace::kGlobal;
    ASSIGN_OR_RETURN(const uint32_t slot, memory_.Allocate(variable.name, variable.bytes(), writable));
    slots_.push_back(slot);
    placed.emplace_back(&variable, slot);
    symbols_.emplace(variable.name, BeginOfSlot(slot));
  }
  for (const auto& [variable, slot] : placed) WriteInitialValue(*variable, memory_.region(slot).host);
  return absl::OkStatus();
}

void LoadedModule::WriteInitialValue(const ptx::Variable& variable, std::byte* host) const {
  const size_t given = std::min<size_t>(variable.initial.size(), variable.bytes());
  if (given != 0) std::memcpy(host, variable.initial.data(), given);
  for (const ptx::Variable::Relocation& relocation : variable.relocations) {
    const auto symbol = symbols_.find(relocation.symbol);
    uint64_t address = symbol != symbols_.end() ? symbol->second : FunctionAddress(module_, relocation.symbol);
    address += static_cast<uint64_t>(relocation.addend);
    const size_t width = std::min<size_t>(variable.element_bytes, sizeof address);
    if (relocation.offset + width <= variable.bytes()) std::memcpy(host + relocation.offset, &address, width);
  }
}

std::string LoadedModule::NameInPtx(const std::string& kernel) const {
  const auto lowered = lowered_names_.find(kernel);
  return lowered == lowered_names_.end() ? kernel : lowered->second;
}

absl::StatusOr<const Program*> LoadedModule::FindProgram(const std::string& kernel) {
  const std::string name = NameInPtx(kernel);
  if (const auto known = programs_.find(name); known != programs_.end()) return known->second.get();
  ASSIGN_OR_RETURN(Program program, DecodeKernel(module_, name, symbols_));
  return programs_.emplace(name, std::make_unique<Program>(std::move(program))).first->second.get();
}

const v1::Resources* LoadedModule::FindResources(const std::string& kernel) const {
  const std::string name = NameInPtx(kernel);
  const auto found = std::find_if(resources_.begin(), resources_.end(), [&](const v1::Resources& resources) {
    return resources.kernel() == name || resources.kernel() == kernel;
  });
  return found == resources_.end() ? nullptr : &*found;
}

}  // namespace fsr::sim
