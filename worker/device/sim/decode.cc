#include "worker/device/sim/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "worker/device/sim/address_space.h"
#include "worker/device/sim/function_decoder.h"

namespace fsr::sim {
namespace {

// A thread's local memory where calls recurse or go through pointers, so that no bound is known.
constexpr uint32_t kRecursiveLocalBytes = 64 * 1024;

uint32_t AlignUp(uint64_t value, uint64_t alignment) {
  return static_cast<uint32_t>((value + alignment - 1) / alignment * alignment);
}

void CollectNames(const ptx::Operand& operand, std::set<std::string, std::less<>>& names) {
  const bool named = operand.kind == ptx::Operand::Kind::kSymbol ||
                     (operand.kind == ptx::Operand::Kind::kAddress && operand.is_symbol_base);
  if (named) names.insert(operand.name);
  for (const ptx::Operand& element : operand.elements) CollectNames(element, names);
}

const ptx::Function* FindFunction(const ptx::Module& module, std::string_view name) {
  const auto found = std::find_if(module.functions.begin(), module.functions.end(),
                                  [&](const ptx::Function& function) { return function.name == name; });
  return found == module.functions.end() ? nullptr : &*found;
}

// The kernel and every function that its code names, in the order found; `names` gets every symbol they name.
std::vector<const ptx::Function*> ReachableFunctions(const ptx::Module& module, const ptx::Function& kernel,
                                                     std::set<std::string, std::less<>>& names) {
  std::vector<const ptx::Function*> reached = {&kernel};
  const auto add = [&](std::string_view name) {
    const ptx::Function* function = FindFunction(module, name);
    if (function != nullptr && std::find(reached.begin(), reached.end(), function) == reached.end()) {
      reached.push_back(function);
    }
  };
  for (const ptx::Variable& variable : module.variables) {
    for (const ptx::Variable::Relocation& relocation : variable.relocations) add(relocation.symbol);
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const ptx::Instruction& instruction : reached[i]->instructions) {
      std::set<std::string, std::less<>> here;
      for (const ptx::Operand& operand : instruction.operands) CollectNames(operand, here);
      if (!instruction.callee.empty()) here.insert(instruction.callee);
      for (const std::string& name : here) add(name);
      names.merge(here);
    }
  }
  return reached;
}

// Static variables one after another as declared, then the dynamic memory, which all `extern` arrays share.
void LayOutShared(ProgramDecoder& decoder, const std::vector<const ptx::Function*>& functions,
                  const std::set<std::string, std::less<>>& names) {
  std::vector<const ptx::Variable*> variables;
  for (const ptx::Variable& variable : decoder.module.variables) {
    if (variable.space == ptx::StateSpace::kShared && names.contains(variable.name)) variables.push_back(&variable);
  }
  for (const ptx::Function* function : functions) {
    for (const ptx::Variable& variable : function->variables) {
      if (variable.space == ptx::StateSpace::kShared) variables.push_back(&variable);
    }
  }
  uint64_t end = 0;
  uint32_t dynamic_alignment = 16;
  for (const ptx::Variable* variable : variables) {
    if (variable->bytes() == 0) {
      dynamic_alignment = std::max(dynamic_alignment, variable->alignment);
      continue;
    }
    const uint32_t offset = AlignUp(end, std::max(variable->alignment, 1u));
    decoder.shared_offsets[variable->name] = offset;
    decoder.program.shared_variables.push_back({variable->name, offset, variable->bytes()});
    end = offset + variable->bytes();
  }
  decoder.program.shared_static_bytes = AlignUp(end, end == 0 ? 1 : dynamic_alignment);
  for (const ptx::Variable* variable : variables) {
    if (variable->bytes() == 0) decoder.shared_offsets[variable->name] = decoder.program.shared_static_bytes;
  }
}

void LayOutKernelParameters(const ptx::Function& kernel, Program& program) {
  for (const ptx::Variable& parameter : kernel.parameters) {
    const uint32_t offset = AlignUp(program.parameter_bytes, std::max(parameter.alignment, 1u));
    program.parameters.push_back({parameter.name, offset, static_cast<uint32_t>(parameter.bytes())});
    program.parameter_bytes = offset + static_cast<uint32_t>(parameter.bytes());
  }
}

// Walks the code from the kernel's first step: what no path leads to is no trouble.
class Reachability {
 public:
  explicit Reachability(const Program& program) : program_(program), seen_(program.steps.size(), false) {}

  std::optional<uint32_t> FindUnsupported() {
    std::vector<uint32_t> open = {program_.functions[0].first_step};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      if (at >= seen_.size() || seen_[at]) continue;
      seen_[at] = true;
      const Step& step = program_.steps[at];
      if (step.op == Op::kUnsupported) return at;
      Follow(step, at, open);
    }
    return std::nullopt;
  }

 private:
  void Follow(const Step& step, uint32_t at, std::vector<uint32_t>& open) const {
    const bool always = step.guard == kTruePredicate && step.guard_inverted == 0;
    const bool leaves = step.op == Op::kBranch || step.op == Op::kReturn || step.op == Op::kExit ||
                        step.op == Op::kTrap || step.op == Op::kBranchIndexed;
    if (!always || !leaves) open.push_back(at + 1);
    if (step.op == Op::kBranch) open.push_back(step.target);
    if (step.op == Op::kBranchIndexed) {
      const std::vector<uint32_t>& targets = program_.branch_tables[step.detail].targets;
      open.insert(open.end(), targets.begin(), targets.end());
    }
    if (step.op != Op::kCall) return;
    const CallStep& call = program_.calls[step.detail];
    if (call.callee == CallStep::Callee::kFunction) open.push_back(program_.functions[call.function].first_step);
    if (call.callee == CallStep::Callee::kIndirect) {
      for (const FunctionCode& function : program_.functions) open.push_back(function.first_step);
    }
  }

  const Program& program_;
  std::vector<bool> seen_;
};

// The most local memory that a chain of calls from `function` needs; kRecursiveLocalBytes if that is unbounded.
uint32_t LocalBytesOfCalls(const Program& program, const std::vector<uint32_t>& function_of_step, uint32_t function,
                           std::set<uint32_t>& callers) {
  if (!callers.insert(function).second) return kRecursiveLocalBytes;
  uint32_t deepest = 0;
  for (size_t i = program.functions[function].first_step; i < program.steps.size() && function_of_step[i] == function;
       ++i) {
    if (program.steps[i].op != Op::kCall) continue;
    const CallStep& call = program.calls[program.steps[i].detail];
    if (call.callee == CallStep::Callee::kIndirect) deepest = kRecursiveLocalBytes;
    if (call.callee == CallStep::Callee::kFunction) {
      deepest = std::max(deepest, LocalBytesOfCalls(program, function_of_step, call.function, callers));
    }
  }
  callers.erase(function);
  return std::max(program.functions[function].local_bytes + deepest, deepest);
}

uint32_t LocalBytesPerThread(const Program& program) {
  std::vector<uint32_t> function_of_step(program.steps.size(), 0);
  for (uint32_t function = 0; function < program.functions.size(); ++function) {
    const size_t begin = program.functions[function].first_step;
    std::fill(function_of_step.begin() + static_cast<std::ptrdiff_t>(begin), function_of_step.end(), function);
  }
  std::set<uint32_t> callers;
  return LocalBytesOfCalls(program, function_of_step, 0, callers);
}

}  // namespace

uint64_t FunctionAddress(const ptx::Module& module, std::string_view name) {
  const ptx::Function* function = FindFunction(module, name);
  if (function == nullptr) return 0;
  return kCodeBegin + static_cast<uint64_t>(function - module.functions.data()) * kCodeStride;
}

absl::StatusOr<Program> DecodeKernel(const ptx::Module& module, std::string_view kernel,
                                     const SymbolAddresses& symbols) {
  const ptx::Function* entry = FindFunction(module, kernel);
  if (entry == nullptr || !entry->is_entry) {
    std::string names;
    for (const ptx::Function& function : module.functions) {
      if (function.is_entry) names += (names.empty() ? "" : ", ") + function.name;
    }
    return absl::NotFoundError(fmt::format("there is no kernel {}; the file has: {}", kernel, names));
  }
  ProgramDecoder decoder{module, symbols, {}, {}, {}, {}, {}, {}};
  Program& program = decoder.program;
  std::set<std::string, std::less<>> names;
  const std::vector<const ptx::Function*> functions = ReachableFunctions(module, *entry, names);
  for (const ptx::Function* function : functions) {
    decoder.functions.emplace(function->name, static_cast<uint32_t>(program.functions.size()));
    FunctionCode code;
    code.name = function->name;
    code.address = FunctionAddress(module, function->name);
    program.functions.push_back(std::move(code));
  }
  program.kernel = entry->name;
  program.max_threads = entry->max_threads;
  for (const uint32_t extent : entry->required_cluster) program.required_cluster *= extent;
  LayOutShared(decoder, functions, names);
  LayOutKernelParameters(*entry, program);
  for (uint32_t i = 0; i < functions.size(); ++i) FunctionDecoder(decoder, *functions[i], i).Decode();
  program.unsupported_step = Reachability(program).FindUnsupported();
  program.local_bytes_per_thread = LocalBytesPerThread(program);
  return std::move(decoder.program);
}

}  // namespace fsr::sim
