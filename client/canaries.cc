#include "client/canaries.h"

#include <fmt/format.h>

#include <functional>

#include "common/element_type.h"

namespace fsr {
namespace {

bool IsOutput(const v1::Parameter& p) { return p.role() == v1::Parameter::OUTPUT || p.role() == v1::Parameter::INOUT; }
bool IsInput(const v1::Parameter& p) { return p.role() == v1::Parameter::INPUT || p.role() == v1::Parameter::INOUT; }
bool IsBuffer(const v1::Parameter& p) { return IsOutput(p) || IsInput(p); }

// The number of elements as a size expression.
std::string CountOf(const v1::Parameter& p) {
  std::string count = "1";
  for (const std::string& extent : p.shape()) count += fmt::format(" * ({})", extent);
  return count;
}

// A kernel whose every output element is `value`, an expression over the task's parameters, `i` and the output's index.
// The counts of the buffers come as arguments of the launch, by name "count_<parameter>".
Canary Make(const v1::Task& task, const std::string& name,
            const std::function<std::string(const v1::Parameter& output)>& value) {
  std::string signature, body, args;
  for (const v1::Parameter& p : task.parameters()) {
    const char* separator = signature.empty() ? "" : ", ";
    const std::string type(CudaNameOf(p.type()));
    if (IsBuffer(p)) {
      signature +=
          fmt::format("{}{}{}* {}, int count_{}", separator, IsOutput(p) ? "" : "const ", type, p.name(), p.name());
      args += fmt::format("{}{}, {}", args.empty() ? "" : ", ", p.name(), CountOf(p));
    } else {
      signature += fmt::format("{}{} {}", separator, type, p.name());
      args += fmt::format("{}{}", args.empty() ? "" : ", ", p.name());
    }
    if (IsOutput(p)) {
      body += fmt::format("  for (long long i = t; i < count_{}; i += threads) {}[i] = {};\n", p.name(), p.name(),
                          value(p));
    }
  }
  return {name, fmt::format("#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
                            "// fsr: launch canary grid=(64) block=(256) args=({})\n"
                            "extern \"C\" __global__ void canary({}) {{\n"
                            "  long long t = blockIdx.x * 256ll + threadIdx.x, threads = 64 * 256;\n{}}}\n",
                            args, signature, body)};
}

}  // namespace

std::vector<Canary> CanariesOf(const v1::Task& task) {
  auto constant = [](const char* number) {
    return [number](const v1::Parameter& output) { return fmt::format("({}){}", CudaNameOf(output.type()), number); };
  };
  std::vector<Canary> canaries = {Make(task, "zero", constant("0")), Make(task, "constant", constant("1"))};
  for (const v1::Parameter& input : task.parameters()) {
    if (!IsInput(input) || IsOutput(input)) continue;
    canaries.push_back(Make(task, "copy of " + input.name(), [&input](const v1::Parameter& output) {
      return fmt::format("count_{0} > 0 ? ({1}){0}[i % count_{0}] : ({1})0", input.name(), CudaNameOf(output.type()));
    }));
    if (!IsFloatingPoint(input.type()) || input.data().distribution() != v1::Data::NORMAL) continue;
    canaries.push_back(
        Make(task, "mean of " + input.name() + " instead of its data", [&input](const v1::Parameter& output) {
          return fmt::format("({}){:.9g}", CudaNameOf(output.type()), input.data().mean());
        }));
  }
  return canaries;
}

}  // namespace fsr
