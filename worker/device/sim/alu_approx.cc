// The special function unit: sin, cos, lg2, ex2 and tanh. Each is computed in double and rounded once; a GPU's result
// differs from that by its documented error: 2^-21 absolute for sin and cos within [-pi, pi] (more beyond), 2^-22 for
// lg2, 2 ulp for ex2, 2^-11 relative for tanh.
#include <cmath>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_float.h"

namespace fsr::sim::alu {
namespace {

float Sine(float a) { return static_cast<float>(std::sin(static_cast<double>(a))); }
float Cosine(float a) { return static_cast<float>(std::cos(static_cast<double>(a))); }
float Log2(float a) { return static_cast<float>(std::log2(static_cast<double>(a))); }
float Exp2(float a) { return static_cast<float>(std::exp2(static_cast<double>(a))); }
float HyperbolicTangent(float a) { return static_cast<float>(std::tanh(static_cast<double>(a))); }

}  // namespace

absl::StatusOr<AluOperation> DecodeTranscendental(Reader& reader) {
  const std::string_view opcode = reader.instruction().opcode;
  const bool approximate = reader.Take("approx");
  const FloatFlags flags{opcode != "tanh" && reader.Take("ftz"), false};
  if (!approximate || reader.TakeType() != Type::kF32) return reader.Unknown();
  AluOperation operation;
  operation.pipe = Pipe::kSpecial;
  if (opcode == "sin") operation.function = FlaggedKernel<&Sine>(flags);
  if (opcode == "cos") operation.function = FlaggedKernel<&Cosine>(flags);
  if (opcode == "lg2") operation.function = FlaggedKernel<&Log2>(flags);
  if (opcode == "ex2") operation.function = FlaggedKernel<&Exp2>(flags);
  if (opcode == "tanh") operation.function = FlaggedKernel<&HyperbolicTangent>(flags);
  return reader.Finish(operation, {Type::kF32});
}

}  // namespace fsr::sim::alu
