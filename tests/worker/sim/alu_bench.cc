#include "tests/worker/sim/alu_bench.h"

#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <sstream>

namespace fsr::sim {
namespace {

constexpr int kWarps = 300;

uint64_t WidthMask(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

ptx::Operand MakeOperand(std::string text) {
  ptx::Operand operand;
  if (text == "_") {
    operand.kind = ptx::Operand::Kind::kSink;
    return operand;
  }
  if (text.front() == '#') {
    operand.kind = ptx::Operand::Kind::kImmediate;
    operand.bits = std::stoull(text.substr(1));
    return operand;
  }
  if (text.front() == '{') {
    operand.kind = ptx::Operand::Kind::kVector;
    operand.elements.resize(std::stoul(text.substr(1)));
    return operand;
  }
  if (text.front() == '!') {
    operand.negated = true;
    text.erase(0, 1);
  }
  const size_t bar = text.find('|');
  operand.name = text.substr(0, bar);
  if (bar != std::string::npos) operand.second = text.substr(bar + 1);
  return operand;
}

std::string Show(const Values& values) {
  std::string text;
  for (const uint64_t value : values) text += fmt::format(" {:#x}", value);
  return text;
}

WarpInputs DrawInputs(const std::vector<Pool>& pools, std::mt19937_64& random, int warp) {
  WarpInputs inputs;
  inputs.mask = warp % 3 == 0 ? kFullMask : static_cast<LaneMask>(random());
  inputs.source_predicates = {static_cast<LaneMask>(random()), static_cast<LaneMask>(random())};
  inputs.carry = static_cast<LaneMask>(random());
  for (const Pool& pool : pools) {
    Lanes& lanes = inputs.sources.emplace_back();
    for (uint64_t& lane : lanes.lane) {
      const uint64_t garbage = warp % 2 == 0 ? 0 : random() & ~WidthMask(pool.bits);
      lane = Draw(pool, random) | garbage;
    }
  }
  return inputs;
}

Values ValuesOf(const WarpInputs& inputs, const std::vector<Pool>& pools, size_t lane) {
  Values values;
  for (size_t s = 0; s < pools.size(); ++s) values.push_back(inputs.sources[s].lane[lane] & WidthMask(pools[s].bits));
  return values;
}

std::string NamesOfSources(size_t count) {
  std::string names;
  for (size_t i = 0; i < count; ++i) names += fmt::format(" %s{}", i);
  return names;
}

}  // namespace

ptx::Instruction MakeInstruction(const std::string& full, const std::string& operands) {
  ptx::Instruction instruction;
  instruction.full = full;
  std::istringstream parts(full);
  std::getline(parts, instruction.opcode, '.');
  for (std::string part; std::getline(parts, part, '.');) instruction.modifiers.push_back(part);
  std::istringstream words(operands);
  for (std::string word; words >> word;) instruction.operands.push_back(MakeOperand(word));
  return instruction;
}

AluOperation Find(const std::string& full, const std::string& operands) {
  const absl::StatusOr<AluOperation> operation = FindAlu(MakeInstruction(full, operands));
  INFO(full << " " << operands << ": " << operation.status().ToString());
  REQUIRE(operation.ok());
  return *operation;
}

Pool IntegerPool(int bits) {
  Pool pool{bits, {}};
  const uint64_t mask = WidthMask(bits);
  for (const uint64_t value : {0, 1, 2, 3, 7, 8, 31, 32, 33, 255, 256}) pool.awkward.push_back(value & mask);
  for (const uint64_t value : {mask, mask - 1, mask >> 1, (mask >> 1) - 1, (mask >> 1) + 1, (mask >> 1) + 2,
                               uint64_t{0x5555555555555555u} & mask, uint64_t{0xaaaaaaaaaaaaaaaau} & mask,
                               uint64_t{0x8000800080008000u} & mask, uint64_t{0x7fff00017fff0001u} & mask,
                               WidthMask(bits / 2), ~WidthMask(bits / 2) & mask}) {
    pool.awkward.push_back(value);
  }
  return pool;
}

Pool ShiftPool() {
  Pool pool{32, {}};
  for (uint64_t count = 0; count < 72; ++count) pool.awkward.push_back(count);
  for (const uint64_t count : {127u, 128u, 255u, 256u, 257u, 511u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    pool.awkward.push_back(count);
  }
  return pool;
}

Pool FloatPool(int exponent_bits, int fraction_bits) {
  Pool pool{1 + exponent_bits + fraction_bits, {}};
  const uint64_t one_exponent = uint64_t{1} << fraction_bits;
  const uint64_t infinity = WidthMask(exponent_bits) << fraction_bits;
  const uint64_t one = (WidthMask(exponent_bits) >> 1) << fraction_bits;
  const uint64_t quiet = infinity | one_exponent / 2;
  for (const uint64_t magnitude :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, one_exponent / 2, one_exponent - 1, one_exponent, one_exponent + 1,
        one - 1, one, one + 1, one + one_exponent / 2, one + one_exponent, one - one_exponent, infinity - 1,
        infinity - one_exponent, infinity, quiet, infinity | WidthMask(fraction_bits)}) {
    pool.awkward.push_back(magnitude);
    pool.awkward.push_back(magnitude | uint64_t{1} << (exponent_bits + fraction_bits));
  }
  // Whole numbers and numbers near 1, where sums cancel and products tie.
  std::mt19937_64 random(2);
  for (int i = 0; i < 24; ++i) {
    const uint64_t exponent = one / one_exponent - 2 + random() % 5;
    pool.awkward.push_back((exponent << fraction_bits) | (random() & WidthMask(fraction_bits)));
  }
  return pool;
}

Pool PairPool(const Pool& half) {
  Pool pool{2 * half.bits, {}};
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) pool.awkward.push_back(Draw(half, random) | Draw(half, random) << half.bits);
  return pool;
}

uint64_t Draw(const Pool& pool, std::mt19937_64& random) {
  if (random() % 4 == 0) return random() & WidthMask(pool.bits);
  return pool.awkward[random() % pool.awkward.size()];
}

WarpOutputs Run(const AluOperation& operation, const WarpInputs& inputs) {
  WarpOutputs outputs;
  for (Lanes& lanes : outputs.destinations) lanes.lane.fill(kOldLane);
  outputs.predicate = outputs.second_predicate = kOldPredicate;
  outputs.carry = inputs.carry;
  AluArguments arguments;
  arguments.mask = inputs.mask;
  arguments.destination = &outputs.destinations[0];
  arguments.destination_high = &outputs.destinations[1];
  arguments.further_destinations = {&outputs.destinations[2], &outputs.destinations[3]};
  arguments.predicate = &outputs.predicate;
  arguments.second_predicate = &outputs.second_predicate;
  arguments.carry = &outputs.carry;
  for (size_t i = 0; i < inputs.sources.size(); ++i) arguments.sources[i] = &inputs.sources[i];
  arguments.source_predicates = inputs.source_predicates;
  operation.function(operation, arguments);
  return outputs;
}

void CheckEach(const std::string& full, const std::vector<Pool>& pools, const Check& check,
               const std::string& further_operands) {
  const AluOperation operation = Find(full, "%d" + NamesOfSources(pools.size()) + " " + further_operands);
  std::mt19937_64 random(std::hash<std::string>()(full));
  for (int warp = 0; warp < kWarps; ++warp) {
    WarpInputs inputs = DrawInputs(pools, random, warp);
    const WarpOutputs outputs = Run(operation, inputs);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      const uint64_t result = outputs.destinations[0].lane[lane];
      const Values values = ValuesOf(inputs, pools, lane);
      const bool takes_part = ((inputs.mask >> lane) & 1u) != 0;
      if (takes_part ? check(values, result) : result == kOldLane) continue;
      FAIL(full << " of" << Show(values) << " gives " << fmt::format("{:#x}", result)
                << (takes_part ? "" : " in a lane that does not take part"));
    }
    // In place, as in add %r1, %r1, %r2.
    const Lanes before = inputs.sources[0];
    AluArguments arguments;
    arguments.mask = inputs.mask;
    arguments.destination = &inputs.sources[0];
    for (size_t i = 0; i < inputs.sources.size(); ++i) arguments.sources[i] = &inputs.sources[i];
    arguments.source_predicates = inputs.source_predicates;
    operation.function(operation, arguments);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      const bool takes_part = ((inputs.mask >> lane) & 1u) != 0;
      const uint64_t expected = takes_part ? outputs.destinations[0].lane[lane] : before.lane[lane];
      if (inputs.sources[0].lane[lane] != expected) FAIL(full << " differs where its destination is its source");
    }
  }
  SUCCEED();
}

void CompareEach(const std::string& full, const std::vector<Pool>& pools, const Model& model,
                 const std::string& further_operands) {
  CheckEach(
      full, pools,
      [&](const Values& values, uint64_t result) {
        const uint64_t expected = model(values);
        if (result != expected) UNSCOPED_INFO("expected " << fmt::format("{:#x}", expected));
        return result == expected;
      },
      further_operands);
}

void ComparePredicate(const std::string& full, const std::string& operands, const std::vector<Pool>& pools,
                      const PredicateModel& first, const PredicateModel& second) {
  const AluOperation operation = Find(full, operands);
  std::mt19937_64 random(std::hash<std::string>()(full));
  for (int warp = 0; warp < kWarps; ++warp) {
    const WarpInputs inputs = DrawInputs(pools, random, warp);
    const WarpOutputs outputs = Run(operation, inputs);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      const Values values = ValuesOf(inputs, pools, lane);
      const bool takes_part = ((inputs.mask >> lane) & 1u) != 0, old = ((kOldPredicate >> lane) & 1u) != 0;
      const bool source = ((inputs.source_predicates[0] >> lane) & 1u) != 0;
      const bool p = ((outputs.predicate >> lane) & 1u) != 0, q = ((outputs.second_predicate >> lane) & 1u) != 0;
      const bool right = p == (takes_part ? first(values, source) : old) &&
                         (second == nullptr || q == (takes_part ? second(values, source) : old));
      if (!right) FAIL(full << " of" << Show(values) << " with " << source << " gives " << p << " and " << q);
    }
  }
  SUCCEED();
}

float F(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double D(uint64_t bits) { return std::bit_cast<double>(bits); }
uint64_t Bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

}  // namespace fsr::sim
